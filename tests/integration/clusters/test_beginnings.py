"""A process tells its caches only of revisions that it wrote itself: it would skip the events of all others."""

from __future__ import annotations

import pytest

from gateway.clusters.default_objects import clear, clear_unmade
from gateway.clusters.definition import MADE
from gateway.clusters.templates import ClusterTemplate, ClusterTemplates, template_of
from storage.errors import Fenced
from storage.etcd import EtcdClient
from storage.etcd.operations import delete
from storage.keys import prefix_end
from storage.leading import Leading
from tests.integration.clusters.test_making import leading

UID = "6c3e7f2a-0d0e-4e0e-9a55-1f6b7d7c2f11"
UIDS = UID, "7c3e7f2a-0d0e-4e0e-9a55-1f6b7d7c2f11", "5c3e7f2a-0d0e-4e0e-9a55-1f6b7d7c2f11"
OBJECT = b'{"metadata":{"name":"a","uid":"e1b7c6a0-2f3d-4a7b-8a11-0c9d8e7f6a5b"}}'


@pytest.fixture
def templates(etcd_client: EtcdClient, prefix: bytes) -> ClusterTemplates:
    return ClusterTemplates(etcd_client, prefix)


@pytest.fixture
async def leads(etcd_client: EtcdClient, prefix: bytes) -> Leading:
    return await leading(etcd_client, prefix)


async def test_a_beginning_that_another_process_has_made_has_no_revision(
    templates: ClusterTemplates, leads: Leading, etcd_client: EtcdClient, prefix: bytes
) -> None:
    root, template = prefix + UID.encode() + b"/", template_of([(b"pods/a", OBJECT)])
    made = await templates.begin(leads, root, template)
    kept = await etcd_client.get(root + MADE)
    assert kept is not None and kept.mod_revision == made
    assert await templates.begin(leads, root, template) == 0


async def test_an_end_removes_the_template_with_its_last_user(
    templates: ClusterTemplates, leads: Leading, etcd_client: EtcdClient, prefix: bytes
) -> None:
    """In one revision each, so that neither a crash nor another leader's beginning comes between."""
    template = template_of([(b"pods/a", OBJECT)])
    stored = prefix + b"templates/"
    for uid in UIDS:
        await templates.begin(leads, prefix + uid.encode() + b"/", template, uid)
    for left, uid in zip((2, 1, 0), UIDS, strict=True):
        revision = await templates.end(leads, uid)
        assert revision == await etcd_client.revision(prefix)
        assert (await etcd_client.prefix(stored, count_only=True)).count == (2 * left + 1 if left else 0)
        assert await templates.end(leads, uid) == 0, "it has ended"


async def test_an_end_finds_the_template_of_an_earlier_version(
    templates: ClusterTemplates, leads: Leading, etcd_client: EtcdClient, prefix: bytes
) -> None:
    """An earlier version of the server has not listed the templates of a control plane."""
    root, template = prefix + UID.encode() + b"/", template_of([(b"pods/a", OBJECT)])
    await templates.begin(leads, root, template, UID)
    listed = prefix + b"templates/used/"
    await etcd_client.txn([], [delete(listed, prefix_end(listed))])
    await templates.adopt(leads, UID, await etcd_client.get(root + MADE))
    await templates.end(leads, UID)
    assert not (await etcd_client.prefix(prefix + b"templates/", count_only=True)).count


async def test_the_template_of_all_stays(
    templates: ClusterTemplates, leads: Leading, etcd_client: EtcdClient, prefix: bytes
) -> None:
    root, template = prefix + UID.encode() + b"/", template_of([(b"pods/a", OBJECT)])
    await templates.keep(leads, template)
    await templates.begin(leads, root, template)
    await templates.adopt(leads, UID, await etcd_client.get(root + MADE))
    assert await templates.end(leads, UID) == 0
    assert (await etcd_client.prefix(prefix + b"templates/", count_only=True)).count == 1


async def test_another_leader_does_not_remove_a_template_that_is_being_used(
    templates: ClusterTemplates, leads: Leading, etcd_client: EtcdClient, prefix: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process ends the last user while this one begins the next."""
    template, other = template_of([(b"pods/a", OBJECT)]), ClusterTemplates(etcd_client, prefix)
    first, second, _ = (prefix + uid.encode() + b"/" for uid in UIDS)
    await other.begin(leads, first, template, UIDS[0])
    keep = templates.keep

    async def keep_beside(leads: Leading, kept: ClusterTemplate) -> int:
        revision = await keep(leads, kept)
        await other.end(leads, UIDS[0])
        return revision

    monkeypatch.setattr(templates, "keep", keep_beside)
    await templates.begin(leads, second, template, UIDS[1])
    begun = await etcd_client.get(second + MADE)
    assert begun is not None
    assert await ClusterTemplates(etcd_client, prefix).seeds(UIDS[1], begun) is not None


async def test_a_former_leader_changes_nothing(
    templates: ClusterTemplates, leads: Leading, etcd_client: EtcdClient, prefix: bytes
) -> None:
    template, root = template_of([(b"pods/a", OBJECT)]), prefix + UID.encode() + b"/"
    await templates.begin(leads, root, template, UID)
    made = await etcd_client.get(root + MADE)
    before = await etcd_client.prefix(prefix)
    other, unmade = prefix + UIDS[1].encode() + b"/", prefix + UIDS[2].encode() + b"/"
    for attempt in (
        lambda of: templates.keep(of, template_of([(b"pods/b", OBJECT)])),
        lambda of: templates.begin(of, other, template, UIDS[1]),
        lambda of: templates.begin(of, other, template),
        lambda of: templates.end(of, UID),
        lambda of: templates.adopt(of, UID, made),
        lambda of: clear(of, root),
        lambda of: clear_unmade(of, unmade),
    ):
        former = await leading(etcd_client, prefix)
        former.fence._is_ours = lambda value: value == b""
        await etcd_client.put(former.fence.key, b"somebody else's")
        with pytest.raises(Fenced):
            await attempt(former)
    assert (await etcd_client.prefix(prefix)).kvs == before.kvs


async def test_a_renewal_of_the_lease_ends_no_writes(leads: Leading, etcd_client: EtcdClient, prefix: bytes) -> None:
    await etcd_client.put(prefix + b"x/a", b"")
    await etcd_client.put(leads.fence.key, b"")  # the process has renewed it, and does not know yet
    assert await clear(leads, prefix + b"x/")
    assert not (await etcd_client.range(prefix + b"x/", prefix_end(prefix + b"x/"))).count
