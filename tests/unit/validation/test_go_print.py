"""Values in messages have the form of Go's fmt package."""

from __future__ import annotations

import pytest

from gateway.jsontypes import go_dumps
from gateway.validation.go_print import go_float
from gateway.validation.internal_form import free_json


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1e-7, "1e-07"),
        (0.00001, "1e-05"),
        (0.0001, "0.0001"),
        (-7.5, "-7.5"),
        (999999.5, "999999.5"),
        (1e6, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (1e20, "1e+20"),
    ],
)
def test_floats_have_the_shortest_digits_and_an_exponent_of_two(number: float, text: str) -> None:
    assert go_float(number) == text


def test_json_in_messages_may_stand_in_html_and_in_scripts() -> None:
    """encoding/json escapes the two line separators of JavaScript too."""
    assert go_dumps("<&>\u2028\u2029é") == '"\\u003c\\u0026\\u003e\\u2028\\u2029é"'
    assert free_json({"b": "\u2028", "a": "<"}) == '{"a":"\\u003c","b":"\\u2028"}'
