"""What a policy's messageExpression may say; anything else is replaced by the policy's own message."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.admission.expressions import Result
from gateway.admission.policies.validation import LONGEST_MESSAGE, _usable


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("  no  ", "no"),
        ("\nno\n", "no"),
        ("one\ntwo", ""),
        ("", ""),
        ("x" * LONGEST_MESSAGE, "x" * LONGEST_MESSAGE),
        ("x" * (LONGEST_MESSAGE + 1), ""),
        ("\u00e9" * (LONGEST_MESSAGE // 2 + 1), ""),
        (1, ""),
    ],
)
def test_a_message_is_one_line_of_some_length(value: Any, said: str) -> None:
    assert _usable(Result(value)) == said


def test_an_error_is_no_message() -> None:
    assert _usable(Result(error="it failed")) == ""
