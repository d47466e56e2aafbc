"""Field selectors: their grammar, and the fields that each kind allows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.kinds.builtin import builtin_registry
from gateway.selectors.fields import Term, exact_name, matcher, parse_terms, resolve
from gateway.selectors.labels import MOST_PARTS, SelectorError

POD = {
    "metadata": {"name": "web-0", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {"nodeName": "n1", "restartPolicy": "Always"},
    "status": {"phase": "Running", "podIPs": [{"ip": "10.1.0.7"}]},
}


REGISTRY = builtin_registry()


def selects(selector: str, obj: dict[str, Any], group: str = "", resource: str = "pods") -> bool:
    found = REGISTRY.preferred(group, resource)
    assert found is not None
    matches = matcher(resolve(parse_terms(selector), found.model_version.selectable))
    return matches is None or matches(found.model.labels_and_fields_of(obj).fields)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("a=b", [("a", "b", True)]),
        ("a==b", [("a", "b", True)]),
        ("a!=b", [("a", "b", False)]),
        ("a=", [("a", "", True)]),
        ("a=b,c!=d", [("a", "b", True), ("c", "d", False)]),
        (",,a=b,", [("a", "b", True)]),
        (r"a=b\,c", [("a", "b,c", True)]),
        (r"a=b\=c", [("a", "b=c", True)]),
        (r"a=b\\", [("a", "b\\", True)]),
    ],
)
def test_the_grammar(text: str, terms: list[tuple[str, str, bool]]) -> None:
    assert parse_terms(text) == [Term(*term) for term in terms]


@pytest.mark.parametrize("text", ["a", "a=b=c", r"a=\b", "a=b\\", "a>b"])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(SelectorError, match="invalid"):
        parse_terms(text)


VALUES = st.text(alphabet="ab\\,= é", max_size=8)


@given(st.lists(st.tuples(st.sampled_from(["a", "b.c"]), VALUES, st.booleans()), max_size=3))
def test_escaped_values_come_back(terms: list[tuple[str, str, bool]]) -> None:
    def escaped(value: str) -> str:
        return "".join(f"\\{char}" if char in "\\,=" else char for char in value)

    text = ",".join(f"{name}{'=' if equal else '!='}{escaped(value)}" for name, value, equal in terms)
    assert sorted(parse_terms(text)) == sorted(Term(*term) for term in terms)


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("metadata.name=web-0", True),
        ("metadata.namespace!=shop", False),
        ("spec.nodeName=n1,status.phase!=Failed", True),
        ("spec.host=n1", True),
        ("status.podIP=10.1.0.7", True),
        ("spec.hostNetwork=false", True),
        ("spec.schedulerName=", True),
    ],
)
def test_pods_are_selected_by_their_fields(selector: str, selected: bool) -> None:
    assert selects(selector, POD) is selected


def test_numbers_and_absent_fields_read_as_go_prints_them() -> None:
    assert selects("status.successful=3", {"metadata": {}, "status": {"succeeded": 3}}, "batch", "jobs")
    assert selects("status.successful=0", {"metadata": {}}, "batch", "jobs")
    assert selects("spec.unschedulable=true", {"metadata": {}, "spec": {"unschedulable": True}}, "", "nodes")


@pytest.mark.parametrize(
    ("group", "resource", "field", "message"),
    [
        ("", "pods", "spec.foo", "field label not supported: spec.foo"),
        ("", "configmaps", "data", '"data" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("batch", "jobs", "spec.foo", 'field label "spec.foo" not supported for Job'),
        ("", "nodes", "metadata.namespace", "field label not supported: metadata.namespace"),
    ],
)
def test_other_fields_are_refused_in_each_kinds_words(group: str, resource: str, field: str, message: str) -> None:
    found = REGISTRY.preferred(group, resource)
    assert found is not None
    with pytest.raises(SelectorError) as refused:
        resolve([Term(field, "x", True)], found.model_version.selectable)
    assert str(refused.value) == message


@pytest.mark.parametrize("text", ["=", "==", "!=", "=,metadata.name=a,!="])
def test_a_term_without_field_and_value_selects_everything(text: str) -> None:
    found = REGISTRY.preferred("", "pods")
    assert found is not None
    named = [Term("metadata.name", "a", True)] if "metadata.name" in text else []
    assert resolve(parse_terms(text), found.model_version.selectable) == named


def test_events_are_selected_alike_in_both_of_their_groups() -> None:
    event = {"metadata": {}, "involvedObject": {"kind": "Pod", "name": "web-0"}, "reportingComponent": "kubelet"}
    assert selects("involvedObject.name=web-0", event, "", "events")
    assert selects("regarding.name=web-0,reportingController=kubelet", event, "events.k8s.io", "events")


def test_a_selection_may_be_pinned_to_one_name() -> None:
    assert exact_name(parse_terms("metadata.namespace=a,metadata.name=b")) == "b"
    assert exact_name(parse_terms("metadata.name!=b")) is None


TERMS = st.sampled_from(["a=1", "a!=1", "b==2", "b!=2", "a=", "b!=", "c!=3", "c=3"])
FIELDS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "2", "3"]))


@given(st.lists(TERMS, min_size=1, max_size=12), FIELDS)
def test_many_terms_select_what_each_of_them_does(terms: list[str], values: dict[str, str]) -> None:
    together = matcher(parse_terms(",".join(terms)))
    assert together is not None
    each = [matcher(parse_terms(term)) for term in terms]
    assert together(values) == all(matches is not None and matches(values) for matches in each)


def test_a_selector_has_a_limit() -> None:
    assert len(parse_terms(",".join(["a=b"] * MOST_PARTS))) == MOST_PARTS
    with pytest.raises(SelectorError, match="more than 10000 parts"):
        parse_terms("," * MOST_PARTS)
