"""The KV service on a real etcd."""

from __future__ import annotations

import pytest

from storage.embedded import EmbeddedEtcd, binary_version, find_binary
from storage.errors import Compacted, FutureRevision, StorageError, TooLarge
from storage.etcd import EtcdClient, EtcdSettings, KeyValue, PutResult, RangeResult, prefix_end
from storage.etcd.operations import create_revision_is, delete, mod_revision_is, put, read, value_is
from storage.pages import FIRST, pages
from tests.conftest import PATIENCE


async def test_a_key_carries_its_history(etcd_client: EtcdClient, prefix: bytes) -> None:
    first = (await etcd_client.put(prefix, b"one")).revision
    second = (await etcd_client.put(prefix, b"two")).revision
    assert await etcd_client.get(prefix) == KeyValue(prefix, b"two", second, first, 2)


async def test_a_limit_cuts_and_says_so(etcd_client: EtcdClient, prefix: bytes) -> None:
    for name in (b"a", b"b", b"c"):
        await etcd_client.put(prefix + name, name)
    page = await etcd_client.range(prefix, prefix_end(prefix), limit=2)
    assert ([kv.value for kv in page.kvs], page.more, page.count) == ([b"a", b"b"], True, 3)


async def test_a_range_is_streamed_by_an_etcd_that_can(own_client: EtcdClient) -> None:
    """In parts, in order, at one revision. An older etcd answers that it cannot; then the client asks for pages."""
    keys = [b"s/%04d" % number for number in range(3 * FIRST)]
    for start in range(0, len(keys), 100):
        revision = await own_client.write([(key, b"v" * 100) for key in keys[start : start + 100]], [])
    await own_client.put(b"s/later", b"")
    if binary_version(find_binary()) >= (3, 7, 0):
        found = [kv async for kvs in own_client.stream(b"s/", b"s0", revision=revision) for kv in kvs]
        assert [kv.key for kv in found] == keys and {kv.value for kv in found} == {b"v" * 100}
    else:
        with pytest.raises(StorageError, match="RangeStream"):
            await anext(own_client.stream(b"s/", b"s0", revision=revision))
    found = [kv async for at, kvs in pages(own_client, b"s/", revision) for kv in kvs]
    assert [kv.key for kv in found] == keys


async def test_many_keys_are_written_in_one_revision(etcd_client: EtcdClient, prefix: bytes) -> None:
    gone = (await etcd_client.put(prefix + b"gone", b"")).revision
    revision = await etcd_client.write([(prefix + b"a", b"1"), (prefix + b"b", b"2")], [prefix + b"gone"])
    found = await etcd_client.prefix(prefix)
    assert [(kv.value, kv.mod_revision) for kv in found.kvs] == [(b"1", revision), (b"2", revision)]
    assert revision > gone
    assert await etcd_client.write([], [prefix + b"gone"]) == 0  # nothing was written, so there is no revision


async def test_counts_and_keys_come_without_values(etcd_client: EtcdClient, prefix: bytes) -> None:
    await etcd_client.put(prefix + b"a", b"value")
    counted = await etcd_client.prefix(prefix, count_only=True)
    keys = await etcd_client.prefix(prefix, keys_only=True)
    assert (counted.kvs, counted.count) == ([], 1)
    assert [(kv.key, kv.value) for kv in keys.kvs] == [(prefix + b"a", b"")]


async def test_the_past_can_be_read(etcd_client: EtcdClient, prefix: bytes) -> None:
    then = (await etcd_client.put(prefix, b"old")).revision
    await etcd_client.put(prefix, b"new")
    past = await etcd_client.range(prefix, revision=then)
    present = await etcd_client.range(prefix, serializable=True)
    assert (past.kvs[0].value, present.kvs[0].value) == (b"old", b"new")


async def test_the_future_cannot_be_read(etcd_client: EtcdClient, prefix: bytes) -> None:
    with pytest.raises(FutureRevision):
        await etcd_client.range(prefix, revision=await etcd_client.revision() + 1000)


async def test_what_is_compacted_cannot_be_read(own_client: EtcdClient) -> None:
    old = (await own_client.put(b"k", b"1")).revision
    new = (await own_client.put(b"k", b"2")).revision
    await own_client.compact(new, physical=True)
    with pytest.raises(Compacted) as caught:
        await own_client.range(b"k", revision=old)
    assert caught.value.revision == old
    with pytest.raises(Compacted):
        await own_client.compact(old)


async def test_the_revision_is_at_least_that_of_an_answered_write(etcd_client: EtcdClient, prefix: bytes) -> None:
    written = (await etcd_client.put(prefix, b"")).revision
    assert await etcd_client.revision(prefix) >= written


async def test_create_finds_what_is_there(etcd_client: EtcdClient, prefix: bytes) -> None:
    created = await etcd_client.create(prefix, b"mine")
    again = await etcd_client.create(prefix, b"other")
    assert created.succeeded
    assert (again.succeeded, again.current) == (False, KeyValue(prefix, b"mine", created.revision, created.revision, 1))


async def test_update_and_delete_compare_the_revision(etcd_client: EtcdClient, prefix: bytes) -> None:
    created = await etcd_client.create(prefix, b"1")
    updated = await etcd_client.update(prefix, b"2", created.revision)
    assert updated.succeeded
    for lost in (
        await etcd_client.update(prefix, b"3", created.revision),
        await etcd_client.delete_if(prefix, created.revision),
    ):
        assert not lost.succeeded and lost.current is not None
        assert (lost.current.value, lost.current.mod_revision) == (b"2", updated.revision)
    deleted = await etcd_client.delete_if(prefix, updated.revision)
    assert deleted.succeeded and deleted.revision > updated.revision
    for gone in (await etcd_client.update(prefix, b"4", updated.revision), await etcd_client.delete_if(prefix, 1)):
        assert (gone.succeeded, gone.current) == (False, None)


async def test_a_transaction_runs_one_branch_in_one_revision(etcd_client: EtcdClient, prefix: bytes) -> None:
    one, two = prefix + b"1", prefix + b"2"
    taken = await etcd_client.txn(
        [mod_revision_is(one, 0), create_revision_is(two, 0)], [put(one, b"a"), put(two, b"b")], [read(one)]
    )
    assert taken.succeeded and taken.results == [PutResult(taken.revision, None)] * 2
    other = await etcd_client.txn([value_is(one, b"x")], [delete(one)], [read(prefix, prefix_end(prefix))])
    (found,) = other.results
    assert not other.succeeded and isinstance(found, RangeResult)
    assert [(kv.key, kv.mod_revision) for kv in found.kvs] == [(one, taken.revision), (two, taken.revision)]


async def test_a_deleted_range_is_counted(etcd_client: EtcdClient, prefix: bytes) -> None:
    await etcd_client.put(prefix + b"a", b"1")
    await etcd_client.put(prefix + b"b", b"2")
    result = await etcd_client.delete(prefix, prefix_end(prefix), prev_kv=True)
    assert (result.deleted, [kv.value for kv in result.prev_kvs]) == (2, [b"1", b"2"])


async def test_a_request_over_etcds_limit_is_too_large(etcd_client: EtcdClient, prefix: bytes) -> None:
    with pytest.raises(TooLarge):
        await etcd_client.put(prefix, b"x" * 2_000_000)


async def test_a_transaction_of_too_many_operations_is_too_large() -> None:
    with EmbeddedEtcd(arguments=["--max-txn-ops=128"]) as etcd:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), timeout=PATIENCE)) as client:
            await client.txn([], [put(b"%d" % i, b"") for i in range(128)])
            with pytest.raises(TooLarge):
                await client.txn([], [put(b"%d" % i, b"") for i in range(129)])


async def test_an_answer_of_many_megabytes_arrives(etcd_client: EtcdClient, prefix: bytes) -> None:
    for i in range(8):
        await etcd_client.put(prefix + b"%d" % i, b"x" * 1_000_000)
    assert sum(len(kv.value) for kv in (await etcd_client.prefix(prefix)).kvs) == 8_000_000


async def test_a_member_tells_its_version_and_size(etcd_client: EtcdClient) -> None:
    status = await etcd_client.status()
    assert status.version[0] == "3" and status.db_size > 0 and status.leader == status.member_id
