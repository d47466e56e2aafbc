"""A template gives back what it was made of, but for the uids and times of its own objects."""

from __future__ import annotations

import asyncio
import threading
import zlib
from typing import cast
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.clusters import templates as module
from gateway.clusters.definition import MADE
from gateway.clusters.templates import ClusterTemplate, ClusterTemplates, template_of, unpacked
from gateway.jsontypes import dumps
from storage.etcd import EtcdClient, KeyValue, RangeResult
from tests.examples import examples

OWN, OTHER = b"e1b7c6a0-2f3d-4a7b-8a11-0c9d8e7f6a5b", b"11111111-2f3d-4a7b-8a11-0c9d8e7f6a5b"
UID, TIME = UUID("6c3e7f2a-0d0e-4e0e-9a55-1f6b7d7c2f11"), b"2031-02-03T04:05:06Z"
BORN = KeyValue(b"/clusters/%b/" % str(UID).encode() + MADE, dumps({"template": "d", "time": TIME.decode()}), 6, 6, 1)
LIKE_HOLES = [
    b"0001-01-01T00:00:00Z",
    b"00000000-0000-4000-8000-000000000000",
    b"\0" + b"0" * 12,
    b"\0\0" + b"0" * 11 + b"1",
    b"\\u0000000000000001",
]
PIECES = st.sampled_from([OTHER, b"a", b"0", b"1", b"\0", b"\0\0", b"000000000001", b'"', *LIKE_HOLES])


def given_back(template: ClusterTemplate) -> list[bytes]:
    return [template.value(UID, TIME, place) for place in range(len(template.values))]


@pytest.mark.parametrize("text", LIKE_HOLES)
def test_text_that_looks_like_a_hole_is_given_back(text: bytes) -> None:
    value = b'{"metadata":{"uid":"%b","creationTimestamp":"2026-01-01T00:00:00Z"},"a":"%b"}' % (OWN, text)
    [found] = given_back(template_of([(b"configmaps/a", value)], {OWN}))
    before, _, after = found.partition(b'","creationTimestamp":"')
    assert OWN not in before and after == b'%b"},"a":"%b"}' % (TIME, text)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.lists(PIECES, max_size=6).map(b"".join), max_size=4))
def test_values_without_uids_and_times_of_its_own_are_given_back(values: list[bytes]) -> None:
    pairs = [(b"%04d" % place, value) for place, value in enumerate(values)]
    assert given_back(template_of(pairs, {OWN})) == values


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.lists(st.just(OWN) | PIECES, max_size=6).map(b"".join), max_size=4))
def test_a_template_is_as_it_was_packed(values: list[bytes]) -> None:
    made = template_of([(b"%04d" % place, value) for place, value in enumerate(values)], {OWN})
    read = unpacked(made.packed)
    assert given_back(read) == given_back(made) and read.digest == made.digest
    assert all(OWN not in each for each in given_back(made))


def test_uids_follow_from_the_control_plane_and_the_hole() -> None:
    values = [b"%08d-2f3d-4a7b-8a11-0c9d8e7f6a5b" % place for place in range(200)]
    found = given_back(template_of([(b"%04d" % place, value) for place, value in enumerate(values)]))
    assert found == [str(uuid5(UID, f"{place + 1:012}")).encode() for place in range(200)]


def test_its_digest_does_not_depend_on_uids_and_times() -> None:
    values = [b'{"uid":"%b","creationTimestamp":"2026-01-0%dT00:00:00Z"}' % each for each in ((OWN, 1), (OTHER, 2))]
    one, other = (template_of([(b"a", value)]) for value in values)
    assert one.digest == other.digest


class _Etcd:
    """A client that has one template, and answers when the test says so."""

    def __init__(self, template: ClusterTemplate) -> None:
        self.packed, self.asked, self.may_answer = template.packed, 0, asyncio.Event()

    async def range(self, key: bytes, range_end: bytes) -> RangeResult:
        self.asked += 1
        await self.may_answer.wait()
        return RangeResult([KeyValue(key + b"0000", self.packed, 5, 5, 1)], 7, 1, False)


async def test_it_is_read_once_for_all_who_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And outside the event loop."""
    made = template_of([(b"a", b'{"uid":"%b"}' % OWN)])
    etcd = _Etcd(made)
    templates = ClusterTemplates(cast(EtcdClient, etcd), b"/clusters/")
    threads = set[bool]()

    def unpacked_there(packed: bytes) -> ClusterTemplate:
        threads.add(threading.current_thread() is threading.main_thread())
        return unpacked(packed)

    monkeypatch.setattr(module, "unpacked", unpacked_there)
    asked = [asyncio.create_task(templates.seeds(str(UID), BORN)) for _ in range(9)]
    await asyncio.sleep(0)
    asked[0].cancel()  # a client that goes takes nothing from the others
    etcd.may_answer.set()
    found = await asyncio.gather(*asked[1:])
    assert etcd.asked == 1 and threads == {False}
    for seeds in (*found, await templates.seeds(str(UID), BORN)):
        assert seeds is not None and [kv.value for kv in seeds.all_between(b"/", b"0")] == given_back(made)
    assert etcd.asked == 1


async def test_one_that_could_not_be_read_is_read_again() -> None:
    etcd = _Etcd(template_of([(b"a", b"{}")]))
    etcd.may_answer.set()
    templates, packed = ClusterTemplates(cast(EtcdClient, etcd), b"/clusters/"), etcd.packed
    etcd.packed = b"no template"
    with pytest.raises(zlib.error):
        await templates.seeds(str(UID), BORN)
    etcd.packed = packed
    assert await templates.seeds(str(UID), BORN) is not None


@pytest.mark.parametrize(
    ("value", "shared"),
    [
        (b'{"metadata":{"uid":"%b"},"rules":[]}' % OWN, True),
        (b'{"metadata":{"uid":"%b","creationTimestamp":"2026-01-02T03:04:05Z"}}' % OWN, True),
        (b'{"metadata":{"uid":"%b"},"rules":[{"resourceNames":["%b"]}]}' % (OWN, OWN), False),
        (b'{"metadata":{"uid":"%b"},"subjects":[{"name":"\\"uid\\":\\"%b"}]}' % (OWN, OWN), False),
        (b'{"metadata":{"uid":"%b"},"subjects":[{"name":"x%b"}]}' % (OWN, OWN), False),
    ],
)
def test_control_planes_share_nothing_of_values_with_a_uid_that_may_matter(value: bytes, shared: bool) -> None:
    contents, made = template_of([(b"a", value)], {OWN}).contents, list[int]()
    for _ in range(2):
        contents.derived(0, "x", lambda: made.append(1))
    assert len(made) == (1 if shared else 2)
