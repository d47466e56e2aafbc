"""The process knows a quota that it has charged without reading it again."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.jsontypes import dumps, loads
from gateway.quotas.amounts import amounts_of, plus, same
from gateway.quotas.known import KnownQuotas
from gateway.quotas.quota import quota_of
from storage.cache import ResourceCache
from storage.entry import MARK
from storage.errors import StoredObject
from tests.unit.storage.canonical import SPEC

KEY = b"/registry/resourcequotas/n/q"
TEXTS = st.sampled_from(["0", "1", "3", "250m", "1500m", "1Gi", "3Mi", "1e3", "7k", "123456789123456789", "1n"])
AMOUNTS = st.dictionaries(st.sampled_from(["pods", "requests.cpu", "limits.memory"]), TEXTS, min_size=1)


def known_quotas() -> KnownQuotas:
    """Of a cache that has none yet."""
    cache = SimpleNamespace(root=b"/registry/", of_key=lambda key: None)
    store: Any = SimpleNamespace(cache=cache, cached_entry=lambda key: None)
    return KnownQuotas(store)


@given(AMOUNTS, st.lists(AMOUNTS, min_size=1, max_size=4))
def test_a_quota_that_was_charged_is_as_it_would_be_read(used: dict[str, str], charges: list[dict[str, str]]) -> None:
    known = known_quotas()
    status = {"hard": {"pods": "9", "requests.cpu": "9"}, "used": used}
    quota = quota_of(KEY, dumps({"metadata": {"name": "q"}, "spec": {}, "status": status}), 1)
    for revision, charge in enumerate(charges, 2):
        swap = known.swap(quota, plus(quota.used, amounts_of(charge)))
        known.made([swap], revision)
        found, read = known._known[KEY], quota_of(KEY, swap.value, revision)
        assert not isinstance(found, int)
        assert same(found.used, read.used) and same(found.hard, read.hard)
        assert (found.key, found.name, found.revision, found.value) == (KEY, "q", revision, read.value)
        quota = found


def test_what_etcd_tells_counts_where_it_was_set_back() -> None:
    known = known_quotas()
    value = dumps({"metadata": {"name": "q"}, "spec": {}, "status": {"hard": {"pods": "9"}, "used": {"pods": "1"}}})
    swap = known.swap(quota_of(KEY, value, 900), {})
    known.made([swap], 901)
    there = StoredObject(KEY, value + MARK, 500)
    known.learn([known.swap(quota_of(KEY, value, 901), {})], [there])
    found = known._known[KEY]
    assert not isinstance(found, int) and found.revision == 500


def test_nothing_is_known_once_everything_was_loaded_anew() -> None:
    known, cache = known_quotas(), ResourceCache(replace(SPEC, prefix=b"/registry/resourcequotas/"))
    known.store.cache.of_key = lambda key: cache  # type: ignore[method-assign]
    assert known.of("n") == []
    known.learn([known.swap(quota_of(KEY, dumps({"metadata": {"name": "q"}, "status": {}}), 900), {})], [None])
    assert known._known == {KEY: 900}
    cache.start_over()
    assert known.of("n") == [] and not known._known


def test_the_server_owns_what_it_charges_from_the_first_charge_on() -> None:
    known = known_quotas()
    of_another = {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "subresource": "status",
        "fieldsV1": {"f:status": {"f:used": {"f:pods": {}, "f:services": {}}}},
    }
    value = {
        "kind": "ResourceQuota",
        "apiVersion": "v1",
        "metadata": {"name": "q", "namespace": "n", "managedFields": [of_another]},
        "spec": {},
        "status": {"hard": {"pods": "9", "services": "9"}, "used": {"pods": "1", "services": "1"}},
    }
    quota = quota_of(KEY, dumps(value), 1)
    for name in ("pods", "pods", "services"):
        swap = known.swap(quota, plus(quota.used, amounts_of({name: "1"})))
        owners = {
            field: [
                each["manager"] for each in loads(swap.value)["metadata"]["managedFields"] if field in used_of(each)
            ]
            for field in ("f:pods", "f:services")
        }
        assert owners["f:pods"] == ["kube-apiserver"]
        assert owners["f:services"] == ["kube-apiserver" if name == "services" else "m"]
        known.made([swap], quota.revision + 1)
        found = known._known[KEY]
        assert not isinstance(found, int)
        quota = found


def used_of(entry: Any) -> Any:
    return entry["fieldsV1"].get("f:status", {}).get("f:used", {})
