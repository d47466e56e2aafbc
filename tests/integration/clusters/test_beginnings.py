"""A process tells its caches only of revisions that it wrote itself: it would skip the events of all others."""

from __future__ import annotations

import pytest

from gateway.clusters.definition import MADE
from gateway.clusters.templates import Templates, template_of
from storage.etcd import EtcdClient
from storage.etcd.results import DeleteResult

UID = "6c3e7f2a-0d0e-4e0e-9a55-1f6b7d7c2f11"
OBJECT = b'{"metadata":{"name":"a","uid":"e1b7c6a0-2f3d-4a7b-8a11-0c9d8e7f6a5b"}}'


@pytest.fixture
def templates(etcd_client: EtcdClient, prefix: bytes) -> Templates:
    return Templates(etcd_client, prefix)


async def test_a_beginning_that_another_process_has_made_has_no_revision(
    templates: Templates, etcd_client: EtcdClient, prefix: bytes
) -> None:
    root, template = prefix + UID.encode() + b"/", template_of([(b"pods/a", OBJECT)])
    made = await templates.begin(root, template)
    kept = await etcd_client.get(root + MADE)
    assert kept is not None and kept.mod_revision == made
    assert await templates.begin(root, template) == 0


async def test_an_end_has_the_revision_of_its_own_last_deletion(
    templates: Templates, etcd_client: EtcdClient, prefix: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, template = prefix + UID.encode() + b"/", template_of([(b"pods/a", OBJECT)])
    await templates.begin(root, template, UID)
    made = await etcd_client.get(root + MADE)
    await etcd_client.delete(prefix + b"templates/" + template.digest.encode() + b"/0000")
    delete, revisions = etcd_client.delete, list[int]()

    async def delete_beside_another_writer(key: bytes, range_end: bytes = b"") -> DeleteResult:
        answer = await delete(key, range_end)
        if answer.deleted:
            revisions.append(answer.revision)
        await etcd_client.put(prefix + b"other", b"")
        return answer

    monkeypatch.setattr(etcd_client, "delete", delete_beside_another_writer)
    assert await templates.end(UID, made) == revisions[0] and len(revisions) == 1
    assert await templates.end(UID, made) == 0, "nothing is left"
