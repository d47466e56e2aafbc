"""A template that is known gets the errors and warnings that it would get if it came for the first time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import signature
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.templates import warnings_about
from gateway.release.gates import Gates
from gateway.validation import known_templates
from gateway.validation.field import FieldError
from gateway.validation.pod_options import PodOptions, options_of_create
from gateway.validation.pod_template import options_of_update, template_options, validate_pod_template
from gateway.validation.pod_warnings import template_warnings

WORDS = st.sampled_from(["a", "b", "A_", ""])
PORT = st.fixed_dictionaries({"containerPort": st.sampled_from([1, 2, 0]), "protocol": st.just("TCP")})
CONTAINER: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "name": WORDS,
        "image": WORDS,
        "terminationMessagePolicy": st.just("File"),
        "imagePullPolicy": st.just("Always"),
        "ports": st.lists(PORT, max_size=2),
    }
)
TEMPLATES: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"labels": st.dictionaries(WORDS, WORDS, max_size=2)}),
        "spec": st.fixed_dictionaries(
            {
                "containers": st.lists(CONTAINER, max_size=2),
                "restartPolicy": st.sampled_from(["Always", "Never", ""]),
                "dnsPolicy": st.just("ClusterFirst"),
            },
            optional={
                "nodeSelector": st.dictionaries(st.sampled_from(["beta.kubernetes.io/os", "a"]), WORDS),
                "tolerations": st.lists(st.fixed_dictionaries({"operator": st.sampled_from(["Exists", "Lt"])})),
            },
        ),
    }
)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    known_templates._passed.clear()
    yield
    known_templates._passed.clear()


def errors_of(template: JsonObject, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    validate_pod_template(template, "spec.template", errors, options)
    return errors


@given(TEMPLATES, TEMPLATES, st.sampled_from(["1.36", "1.37"]))
def test_errors_and_warnings_are_those_of_the_first_time(template: JsonObject, old: JsonObject, minor: str) -> None:
    known_templates._passed.clear()
    enabled = Gates(minor).enabled
    create = options_of_create(is_pod=False, enabled=enabled)
    relaxed, strict = errors_of(template, template_options(old, enabled)), errors_of(template, create)
    warnings = list(warnings_about(template))
    for _ in range(2):
        assert errors_of(template, create) == strict
        assert errors_of(template, options_of_update(template, old, enabled)) == relaxed
        assert list(warnings_about(template)) == warnings
    assert known_templates.has_passed(create.known_as, template) == (not strict)
    assert known_templates.has_passed(known_templates.QUIET, template) == (not warnings)


def test_a_template_that_one_release_accepts_is_judged_again_by_the_rules_of_another() -> None:
    image = {"name": "v", "image": {"reference": "", "pullPolicy": "Always"}}
    container = {"name": "c", "image": "i", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"}
    spec = {
        "containers": [container],
        "volumes": [image],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 1,
    }
    template: JsonObject = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    older, newer = (options_of_create(is_pod=False, enabled=Gates(minor).enabled) for minor in ("1.36", "1.37"))
    assert not errors_of(template, older)
    assert errors_of(template, newer)


def test_warnings_do_not_depend_on_the_release() -> None:
    """If they did, the rule QUIET would have to name the release, as the rules of a create do."""
    modules = [module for name, module in sys.modules.items() if name.startswith("gateway.validation.")]
    for module in (each for each in modules if each.__name__.endswith("_warnings")):
        assert not {"Enabled", "Gates", "Release"} & vars(module).keys(), module.__name__
    assert set(signature(template_warnings).parameters) == {"template", "path"}


def test_a_template_whose_warnings_were_not_all_read_is_not_known() -> None:
    labelled = {"beta.kubernetes.io/os": "a", "beta.kubernetes.io/arch": "b"}
    template: JsonObject = {"spec": {"containers": [], "nodeSelector": labelled}}
    assert next(iter(warnings_about(template)))
    assert not known_templates.has_passed(known_templates.QUIET, template)
