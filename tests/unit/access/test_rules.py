"""What an RBAC rule allows, which other rules it covers, and that both agree."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.rbac.rules import TooManyRights, compile_rule, compile_rules, described, uncovered
from gateway.http.request_info import RequestInfo
from gateway.time_limits import TakesLong, at_once

GROUPS, VERBS, NAMES = ("", "apps"), ("get", "list"), ("", "a", "b")
RESOURCES = ("pods", "pods/log", "nodes", "nodes/log")
URLS = ("/a", "/a/b", "/b")
Rule = dict[str, Any]


def some(values: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3)


RULES = st.one_of(
    st.fixed_dictionaries(
        {
            "verbs": some((*VERBS, "*")),
            "apiGroups": some((*GROUPS, "*")),
            "resources": some((*RESOURCES, "*", "*/log")),
        },
        optional={"resourceNames": some(("a", "b"))},
    ),
    st.fixed_dictionaries({"verbs": some((*VERBS, "*")), "nonResourceURLs": some((*URLS, "/a*", "/a/*", "*"))}),
)


def requests() -> list[RequestInfo]:
    """Every request there is in a small world."""
    found = []
    for verb, group, resource, name in product(VERBS, GROUPS, RESOURCES, NAMES):
        kind, _, subresource = resource.partition("/")
        found.append(
            RequestInfo(verb, "", True, group=group, resource=kind, subresource=subresource, name=name),
        )
    return found + [RequestInfo(verb, url) for verb, url in product(VERBS, URLS)]


REQUESTS = requests()


def allowed(rules: list[Rule]) -> set[int]:
    compiled = compile_rules(rules)
    found = set()
    for index, info in enumerate(REQUESTS):
        combined = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        if any(rule.allows(info, combined) for rule in compiled):
            found.add(index)
    return found


@given(st.lists(RULES, max_size=3), st.lists(RULES, max_size=2))
def test_who_is_said_to_cover_rules_may_do_all_that_they_allow(owned: list[Rule], wanted: list[Rule]) -> None:
    if not uncovered(compile_rules(owned), compile_rules(wanted)):
        assert allowed(wanted) <= allowed(owned)


@given(st.lists(RULES, max_size=3), st.lists(RULES, max_size=2))
def test_what_is_lacking_makes_up_for_the_difference(owned: list[Rule], wanted: list[Rule]) -> None:
    lacking = uncovered(compile_rules(owned), compile_rules(wanted))
    assert not uncovered(compile_rules([*owned, *lacking]), compile_rules(wanted))


@given(RULES)
def test_a_rule_covers_itself(rule: Rule) -> None:
    assert not uncovered(compile_rules([rule]), compile_rules([rule]))


@pytest.mark.parametrize(
    ("rule", "covers", "but_not"),
    [
        ("*", ["pods", "pods/log"], []),
        ("*/log", ["pods/log", "*/log"], ["pods", "*"]),
        ("pods", ["pods"], ["pods/log"]),
    ],
)
def test_resources_cover(rule: str, covers: list[str], but_not: list[str]) -> None:
    compiled = compile_rule({"verbs": ["get"], "apiGroups": [""], "resources": [rule]})
    assert all(map(compiled.covers_resource, covers))
    assert not any(map(compiled.covers_resource, but_not))


@pytest.mark.parametrize(
    ("owned", "wanted", "lacking"),
    [
        (["a", "b"], ["a"], []),
        (["a"], ["a", "b"], ["b"]),
        (["a"], ["b"], ["b"]),
        (["a"], None, [None]),
        (None, ["a"], []),
    ],
)
def test_names_cover_themselves_alone(owned: Any, wanted: Any, lacking: list[str | None]) -> None:
    def named(names: list[str] | None) -> Rule:
        rule: Rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
        return rule if names is None else {**rule, "resourceNames": names}

    found = uncovered(compile_rules([named(owned)]), compile_rules([named(wanted)]))
    assert [(each.get("resourceNames") or [None])[0] for each in found] == lacking


def test_lacking_verbs_are_shown_together() -> None:
    wanted = compile_rules(
        [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}]
    )
    shown = described(uncovered((), wanted))
    assert shown == ['{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}']


def test_verbs_that_are_wanted_several_times_are_shown_as_often() -> None:
    once = {"apiGroups": [""], "resources": ["users"], "verbs": ["*", "impersonate"]}
    shown = '{{APIGroups:[""], Resources:["users"], Verbs:[{}]}}'
    told = described(uncovered((), compile_rules([once, once, {**once, "resources": ["users", "users"]}])))
    assert told == [shown.format(" ".join(['"*" "impersonate"'] * 4))]
    told = described(uncovered((), compile_rules([{**once, "verbs": ["get", "list", "get"]}])))
    assert told == [shown.format('"get" "list" "get"')]


def test_rules_that_explode_are_refused() -> None:
    many = [str(number) for number in range(300)]
    with pytest.raises(TooManyRights):
        uncovered((), compile_rules([{"verbs": many, "apiGroups": many, "resources": many}]))


def test_rights_that_are_lacking_many_times_are_refused_and_hold_no_event_loop() -> None:
    rule = {"apiGroups": [""], "resources": [str(n) for n in range(400)], "verbs": [str(n) for n in range(50)]}
    turned = [{**rule, "resources": rule["resources"][n:] + rule["resources"][:n]} for n in range(6)]
    for wanted in ([rule] * 6, turned):
        with pytest.raises(TooManyRights):
            uncovered((), compile_rules(wanted))
    missing = uncovered((), compile_rules(turned[:5]))
    assert len(missing) == 100_000

    async def on_a_loop(work: Callable[[], Any]) -> None:
        with pytest.raises(TakesLong):
            at_once(work)

    asyncio.run(on_a_loop(lambda: uncovered((), compile_rules(turned[:5]))))
    asyncio.run(on_a_loop(lambda: described(missing)))


@pytest.mark.parametrize(
    ("owned", "wanted", "covered"),
    [
        ([], [], True),
        ([], ["a"], True),
        (["a"], ["a"], True),
        (["a", "b"], ["a"], True),
        (["a"], ["a", "b"], False),
        (["a"], [], False),
    ],
)
def test_who_may_do_it_to_some_objects_may_not_do_it_to_all(owned: list[str], wanted: list[str], covered: bool) -> None:
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    own, others = (compile_rules([{**rule, "resourceNames": names} if names else rule]) for names in (owned, wanted))
    assert (not uncovered(own, others)) is covered
