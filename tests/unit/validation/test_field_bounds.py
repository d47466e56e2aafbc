"""Warnings and field errors are made up to their limit, and are the same as without a limit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from gateway.http.status import MOST_TEXT, invalid
from gateway.http.warnings import ITEM_LIMIT, TOTAL_LIMIT, Warnings, warning_headers
from gateway.jsontypes import JsonObject
from gateway.validation.field import MOST_ERRORS, FieldError, duplicate, judged, not_supported, required
from gateway.validation.field import invalid as invalid_value
from gateway.validation.objectmeta import validate_object_meta, validate_object_meta_update
from gateway.validation.port_warnings import port_warnings
from gateway.validation.volume_warnings import overlap_warnings

PORTS = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.sampled_from([1, 2])},
        optional={"hostPort": st.sampled_from([7, 8]), "hostIP": st.sampled_from(["10.0.0.1", "10.0.0.2"])},
    ),
    max_size=9,
)
PATHS = st.lists(st.sampled_from(["a", "a/", "a/b", "a/b/c", "ab", "a-b", "a/bc", "b", "", "b/c"]), max_size=9)


def clashes(ports: list[JsonObject]) -> Iterator[str]:
    """Each port compared with all before it, as kube-apiserver does."""
    for i, port in enumerate(ports):
        host, address = port.get("hostPort", 0), port.get("hostIP", "")
        for j, other in enumerate(ports[:i]):
            if other["containerPort"] != port["containerPort"]:
                continue
            other_host, other_address = other.get("hostPort", 0), other.get("hostIP", "")
            if (host, address) == (other_host, other_address):
                yield f"c.ports[{i}]: duplicate port definition with c.ports[{j}]"
            elif not host or not other_host:
                yield f"c.ports[{i}]: overlapping port definition with c.ports[{j}]"
            elif host == other_host and (not address) != (not other_address):
                yield f"c.ports[{i}]: dangerously ambiguous port definition with c.ports[{j}]"


@given(PORTS)
def test_ports_are_warned_of_as_if_each_was_compared_with_each(ports: list[JsonObject]) -> None:
    found = [text for text in port_warnings([({"ports": ports}, "c")]) if "without hostPort" not in text]
    assert found == list(clashes(ports))


@given(PATHS)
def test_paths_are_warned_of_as_if_each_was_compared_with_each(paths: list[str]) -> None:
    wanted = Warnings()
    for i, path in enumerate(path.rstrip("/") for path in paths):
        for other in (other.rstrip("/") for other in paths[:i]):
            if path and other and (f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")):
                wanted.append(f'volume "v" (ConfigMap "c"): overlapping paths: "{path}" with "{other}"')
    volume = {"name": "v", "configMap": {"name": "c", "items": [{"path": path} for path in paths]}}
    found = Warnings()
    found.extend(overlap_warnings([volume]))
    assert found == wanted


def test_a_rule_is_asked_for_no_more_warnings_than_are_sent() -> None:
    found = Warnings()
    found.extend(f"{number} {'x' * 300}" for number in count())
    assert len(found) == TOTAL_LIMIT // ITEM_LIMIT
    found.extend(str(number) for number in count())
    assert len(warning_headers(found)) == TOTAL_LIMIT // ITEM_LIMIT


def test_warnings_that_fit_are_sent_whole_up_to_the_one_that_makes_them_too_long() -> None:
    texts = ["a" * 2048, "b" * 2048]
    assert [len(value) for _, value in warning_headers(texts)] == [2048 + 8] * 2
    assert [len(value) for _, value in warning_headers([*texts, "c"])] == [ITEM_LIMIT + 8] * 2 + [1 + 8]


def test_a_rule_ends_with_the_last_error_that_is_told() -> None:
    found = judged(lambda: [required(f"spec[{number}]") for number in count()])
    assert len(found) == MOST_ERRORS
    assert judged(lambda: [required("spec")]) == [required("spec")]
    assert len([required("spec") for _ in range(MOST_ERRORS + 1)]) == MOST_ERRORS + 1


def test_metadata_has_no_more_errors_than_are_told() -> None:
    meta = {"name": "a", "namespace": "default", "finalizers": [""] * 3 * MOST_ERRORS}
    assert len(validate_object_meta(meta, True)) == MOST_ERRORS
    assert len(validate_object_meta_update({**meta, "uid": "a"}, {**meta, "uid": "a"})) <= MOST_ERRORS
    assert len(judged(lambda: [*validate_object_meta(meta, True), required("spec")])) == MOST_ERRORS + 1


def test_errors_are_written_up_to_a_length_but_the_first_is_whole() -> None:
    whole = ["x" * 1000] * 100
    errors = [invalid_value(f"spec.scopes[{number}]", whole, "wrong") for number in range(1000)]
    answer = invalid("", "ResourceQuota", "q", errors)
    assert answer.details is not None
    length = len(errors[0].body)
    assert length > 100_000
    assert len(answer.details["causes"]) == MOST_TEXT // length + 1
    large = invalid("", "ConfigMap", "c", [invalid_value("data", "x" * 3 * MOST_TEXT, "wrong"), required("spec")])
    assert large.details is not None
    assert [len(each["message"]) > MOST_TEXT for each in large.details["causes"]] == [True]


def test_errors_are_equal_where_they_say_the_same() -> None:
    assert duplicate("a", 1) != duplicate("a", True)
    assert duplicate("a", [1]) == duplicate("a", [1])
    assert not_supported("a", "b", ["c"]) == not_supported("a", "b", ("c",))
    assert not_supported("a", "b", ["c"]) != not_supported("a", "b", ["d"])
    assert duplicate("a", "b") == FieldError("FieldValueDuplicate", "a", 'Duplicate value: "b"')
    assert len({duplicate("a", "b"), FieldError("FieldValueDuplicate", "a", 'Duplicate value: "b"')}) == 1
