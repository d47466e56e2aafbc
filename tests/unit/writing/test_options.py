"""The options of writes: which are accepted, and the errors for others."""

from __future__ import annotations

import pytest

from gateway.http.parameters import integer
from gateway.http.status import StatusError
from gateway.writing.options import delete_options_of_query, manager_of, write_options


def test_nothing_given_means_warn_and_write() -> None:
    options = write_options({}, "CreateOptions")
    assert (options.validation, options.dry_run, options.force) == ("Warn", False, None)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"dryRun": ["true"]}, "dryRun"),
        ({"dryRun": [""]}, "dryRun"),
        ({"fieldValidation": ["strict"]}, "fieldValidation"),
        ({"fieldManager": ["m" * 129]}, "fieldManager"),
        ({"fieldManager": ["a\nb"]}, "fieldManager"),
        ({"force": ["true"]}, "force"),
    ],
)
def test_other_values_are_invalid(query: dict[str, list[str]], field: str) -> None:
    with pytest.raises(StatusError) as caught:
        write_options(query, "PatchOptions")
    assert caught.value.code == 422
    assert caught.value.details is not None
    assert [cause["field"] for cause in caught.value.details["causes"]] == [field]


def test_an_apply_needs_a_manager() -> None:
    with pytest.raises(StatusError, match="fieldManager: Required value: is required for apply patch"):
        write_options({}, "PatchOptions", apply=True)


def test_any_word_but_false_and_zero_is_true() -> None:
    query = {"fieldManager": ["m"], "force": ["surely"]}
    assert write_options(query, "PatchOptions", apply=True).force is True
    assert write_options({**query, "force": ["0"]}, "PatchOptions", apply=True).force is False


@pytest.mark.parametrize(
    ("option", "agent", "manager"),
    [("m", b"x/1", "m"), ("", b"kubectl/v1 (linux)", "kubectl"), ("", b"", "unknown"), ("", b"a" * 200, "a" * 128)],
)
def test_the_manager_is_the_option_or_the_program(option: str, agent: bytes, manager: str) -> None:
    assert manager_of(option, agent) == manager


def test_delete_options_of_a_query() -> None:
    options = delete_options_of_query({"gracePeriodSeconds": ["5"], "dryRun": ["All"], "propagationPolicy": ["Orphan"]})
    assert (options.grace_period, options.dry_run, options.propagation) == (5, True, "Orphan")


@pytest.mark.parametrize("text", ["soon", "", "1_0", " 1", "9" * 30])
def test_a_number_that_is_none(text: str) -> None:
    with pytest.raises(StatusError, match=r"strconv\.ParseInt: parsing"):
        integer(text)


def test_propagation_and_the_older_form_exclude_each_other() -> None:
    with pytest.raises(StatusError, match="cannot be both set"):
        delete_options_of_query({"propagationPolicy": ["Orphan"], "orphanDependents": ["true"]})
