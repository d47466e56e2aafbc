"""A cache that differs from etcd is noticed, counted and repaired."""

from __future__ import annotations

import asyncio

import pytest

from storage import cache_check
from storage.cache_check import Checker
from storage.etcd import EtcdClient, EtcdSettings
from storage.values import UnreadableValue
from tests.integration.reads.node import PATIENCE, Node
from tests.unit.storage.canonical import canonical


@pytest.fixture(params=[3, cache_check.PAGE])
def page(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page size of the check: small, so that there are several pages, and large."""
    monkeypatch.setattr(cache_check, "PAGE", request.param)


@pytest.mark.usefixtures("page")
async def test_what_agrees_is_left_alone_while_others_write(etcd_client: EtcdClient, prefix: bytes) -> None:
    node = Node(etcd_client, prefix)
    async with node.running():
        checker = Checker(etcd_client, node.cache, node.feed.load_anew)
        for number in range(20):
            revision = await node.put(f"p{number}")
        await node.reaches(revision)
        generation = node.pods.generation
        writes = [asyncio.ensure_future(node.put(f"p{number}", "2")) for number in range(20)]
        findings = [await checker.check() for _ in range(5)]
        await asyncio.gather(*writes)
        assert [each.status for found in findings for each in found] == ["success"] * 5
        assert all(each.cached == each.stored and each.revision for found in findings for each in found)
        assert node.pods.generation == generation
        assert checker.counts == {(prefix + b"pods/", "success"): 5}


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("other", [0, 1, 5, 9])
async def test_a_key_that_only_one_of_them_has_is_found_in_each_piece(
    etcd_client: EtcdClient, prefix: bytes, other: int
) -> None:
    node, loads = Node(etcd_client, prefix), list[str]()
    async with node.running():
        for number in range(10):
            revision = await node.put(f"p{number}")
        await node.reaches(revision)
        checker = Checker(etcd_client, node.cache, lambda: loads.append("anew"))
        known = [(entry.key, entry.stored().raw, entry.revision) for entry in node.pods.slice(0, 99)]
        node.pods.load(known[:other] + known[other + 1 :])
        assert [each.status for each in await checker.check()] == ["failure"]
        node.pods.load([*known, (node.key(f"p{other}0"), canonical(f"p{other}0"), revision)])
        assert [each.status for each in await checker.check()] == ["failure"]
        node.pods.load(known)
        assert [each.status for each in await checker.check()] == ["success"]
        assert len(loads) == 2


async def test_what_differs_is_loaded_anew(
    etcd_client: EtcdClient, prefix: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(etcd_client, prefix)
    async with node.running():
        checker = Checker(etcd_client, node.cache, node.feed.load_anew)
        await node.reaches(await node.put("a"))
        revision = await node.put("b")
        await node.reaches(revision)
        node.pods.load([(node.key("a"), canonical("a"), revision), (node.key("c"), canonical("c"), revision)])
        (finding,) = await checker.check()
        assert (finding.status, finding.revision) == ("failure", revision)
        assert "the watch cache differs from etcd, loading it again" in caplog.text
        async with asyncio.timeout(PATIENCE):
            await node.feed.ready.wait()
        assert [entry.key for entry in node.pods.slice(0, 9)] == [node.key("a"), node.key("b")]
        assert [each.status for each in await checker.check()] == ["success"]
        assert checker.counts[prefix + b"pods/", "failure"] == 1


async def test_an_etcd_that_does_not_tell_is_no_difference(prefix: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with EtcdClient(EtcdSettings(("http://127.0.0.1:1",), timeout=0.1)) as client:
        node = Node(client, prefix)
        checker = Checker(client, node.cache, lambda: pytest.fail("it loads anew what may be right"))
        assert [each.status for each in await checker.check()] == ["error"]
    assert "consistency could not be checked" in caplog.text


async def test_other_keys_load_anew_what_could_not_be_decrypted(
    etcd_client: EtcdClient, prefix: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    node, loads = Node(etcd_client, prefix), list[str]()
    checker = Checker(etcd_client, node.cache, lambda: loads.append("anew"))
    node.pods.load([(node.key("a"), canonical("a"), 5)])
    checker.other_keys()
    assert not loads
    node.pods.load([(node.key("a"), UnreadableValue(b"k8s:enc:aesgcm:v1:a:?"), 5)])
    checker.other_keys()
    assert loads == ["anew"]
    assert "values that could not be decrypted may be readable now, loading the cache again" in caplog.text
