"""Metrics of an owner are removed with the owner."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import gateway
import storage
from storage.instruments.families import OVERFLOW, Counters, declared
from storage.instruments.owners import by, owners

# labels that name what clients make
OWNED = frozenset({"group", "resource", "policy", "policy_binding", "priority_level", "flow_schema", "host"})
# families that are told anew for each scrape, of what there is then, and those that have few values
READ = frozenset(
    {
        *("apiserver_resource_objects", "apiserver_resource_size_estimate_bytes", "apiserver_storage_objects"),
        *("apiserver_storage_consistency_checks_total", "apiserver_watch_cache_resource_version"),
        *("watch_cache_capacity", "etcd_requests_total", "apiserver_watch_cache_events_received_total"),
        *("apiserver_watch_cache_events_dispatched_total", "apiserver_watch_cache_initializations_total"),
        *("apiserver_cache_list_total", "apiserver_cache_list_fetched_objects_total"),
        *("apiserver_cache_list_returned_objects_total", "apiserver_storage_list_evaluated_objects_total"),
    }
)
FEW = frozenset(
    {
        "apiserver_encryption_config_controller_automatic_reloads_total",
        "apiserver_storage_transformation_operations_total",  # of the resources in the configuration
    }
)


def family(*labels: str) -> Counters:
    found = Counters("things_total", "Things.", labels, "ALPHA")
    found.belongs([by("thing", *labels[:2])])
    return found


def test_children_go_with_their_owner() -> None:
    things = family("group", "resource", "verb")
    owners.enter(("thing", "g", "gone"))
    things.labels("g", "gone", "get").inc()
    things.labels("g", "gone", "list").inc()
    things.labels("g", "stays", "get").inc()
    owners.leave(("thing", "g", "gone"))
    assert [labels for labels, _ in things.children()] == [("g", "stays", "get")]


def test_what_is_counted_for_an_owner_that_has_gone_is_kept_nowhere() -> None:
    things = family("group", "resource")
    owners.enter(("thing", "g", "late"))
    owners.leave(("thing", "g", "late"))
    things.labels("g", "late").inc()
    assert things.children() == []
    owners.enter(("thing", "g", "late"))
    things.labels("g", "late").inc()
    assert len(things.children()) == 1
    owners.leave(("thing", "g", "late"))


def test_an_owner_that_was_entered_twice_goes_with_the_second_leave() -> None:
    things = family("group", "resource")
    owners.hold("one", [("thing", "g", "twice")])
    owners.hold("other", [("thing", "g", "twice")])
    things.labels("g", "twice").inc()
    owners.hold("one", [])
    assert len(things.children()) == 1
    owners.hold("other", [])
    assert things.children() == []


def test_too_many_children_are_one() -> None:
    things = family("group", "resource")
    for number in range(10_010):
        things.labels("g", str(number)).inc()
    found = dict(things.children())
    assert len(found) == 10_001 and found[OVERFLOW, OVERFLOW].value == 10


def test_each_family_says_whose_its_children_are() -> None:
    """A label that names what clients make names an owner, with which the children go."""
    for package in (gateway, storage):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith(("measures", "metrics")) or ".observability." in module.name:
                importlib.import_module(module.name)
    bad = {
        each.name: missing
        for each in declared()
        if (missing := OWNED.intersection(each.label_names) - each.owned_by)
        and each.name not in FEW | READ
        and not each.name.startswith(("apiserver_flowcontrol_", "pod_security_"))
    }
    assert bad == {}


def test_owners_that_others_name_have_few_children(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("storage.instruments.owners")  # its package gives the name to the object
    monkeypatch.setattr(module, "MOST_OF_OTHERS", 1)
    things = family("group", "resource", "version", "verb")
    keys = [("thing", "tenant", name) for name in ("first", "second", "third")]
    for key in keys:
        owners.enter(key, of_others=True)
        things.labels(*key[1:], f"v-of-{key[2]}", "get").inc()
    rest = (OVERFLOW, OVERFLOW, OVERFLOW, "get")
    found = {labels: child.value for labels, child in things.children()}
    assert found == {("tenant", "first", "v-of-first", "get"): 1, rest: 2}
    owners.enter(keys[1])  # the server itself has it too
    things.labels(*keys[1][1:], "v1", "get").inc()
    assert ("tenant", "second", "v1", "get") in dict(things.children())
    owners.leave(keys[1])
    for key in keys:
        owners.leave(key)
    assert [labels for labels, _ in things.children()] == [rest], "a counter never falls"
    owners.enter(keys[2], of_others=True)
    things.labels(*keys[2][1:], "v1", "get").inc()
    assert ("tenant", "third", "v1", "get") in dict(things.children()), "there is room again"
    owners.leave(keys[2])
