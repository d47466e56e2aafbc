"""Annotations of pods that have a meaning."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.validation.field import FieldError
from gateway.validation.pod_annotations import (
    APP_ARMOR,
    DELETION_COST,
    SECCOMP_CONTAINER,
    SECCOMP_POD,
    has_meaning,
    validate_pod_annotations,
)
from gateway.validation.pod_options import PodOptions

MIRROR = "kubernetes.io/config.mirror"


def faults(annotations: dict[str, str], options: PodOptions | None = None, **spec: str) -> list[str]:
    found: list[FieldError] = []
    validate_pod_annotations(annotations, dict(spec), "metadata.annotations", found, options or PodOptions())
    return [str(error) for error in found]


@pytest.mark.parametrize("cost", ["0", "1", "-5", "2147483647", "-2147483648"])
def test_a_deletion_cost_is_a_number_of_32_bits(cost: str) -> None:
    assert faults({DELETION_COST: cost}) == []


@pytest.mark.parametrize("cost", ["much", "", "-", "+1", "01", "1.5", "2147483648", "-2147483649", "9" * 100])
def test_another_deletion_cost_is_kept_where_it_was_there_before(cost: str) -> None:
    (told,) = faults({DELETION_COST: cost})
    assert told.startswith(f"metadata.annotations[{DELETION_COST}]: Invalid value") and "32bit integer" in told
    assert faults({DELETION_COST: cost}, replace(PodOptions(), any_deletion_cost=True)) == []


def test_a_mirror_pod_names_its_node() -> None:
    assert faults({MIRROR: "x"}, nodeName="n") == []
    (told,) = faults({MIRROR: "x"})
    assert "must set spec.nodeName if mirror pod annotation is set" in told


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("unconfined", ""),
        ("runtime/default", ""),
        ("docker/default", ""),
        ("localhost/a/b", ""),
        ("localhost//a", "must be a relative path"),
        ("localhost/../a", "must not contain '..'"),
        ("other", "must be a valid seccomp profile"),
    ],
)
@pytest.mark.parametrize(
    "key", ["seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/c"]
)
def test_seccomp_profiles(key: str, profile: str, message: str) -> None:
    told = "".join(faults({key: profile}))
    assert message in told and bool(message) == bool(told)


TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"


@given(
    st.sampled_from(["", "x"]),
    st.sampled_from(
        [MIRROR, TOLERATIONS, DELETION_COST, SECCOMP_POD, SECCOMP_CONTAINER, APP_ARMOR, "a.kubernetes.io/"]
    ),
    st.sampled_from(["", "c", "/c"]),
)
def test_an_annotation_without_meaning_has_no_rule(before: str, known: str, after: str) -> None:
    key = before + known + after
    ruled = key in (MIRROR, TOLERATIONS, DELETION_COST) or key.startswith((SECCOMP_POD, SECCOMP_CONTAINER, APP_ARMOR))
    assert has_meaning(key) == ruled
