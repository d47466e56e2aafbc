"""Names of field managers: limits of the parameter, and the default from the User-Agent."""

from __future__ import annotations

import pytest

from gateway.apply.manager_name import manager_or_user_agent, validate_manager_name


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("kubectl", []),
        ("x" * 129, ["fieldManager: Too long: may not be more than 128 bytes"]),
        ("ä\nb", ['fieldManager: Invalid value: "ä\\nb": invalid character U+000A (at position 2)']),
    ],
)
def test_validation(name: str, errors: list[str]) -> None:
    assert [str(error) for error in validate_manager_name(name)] == errors


@pytest.mark.parametrize(
    ("name", "agent", "manager"),
    [
        ("given", "curl/1", "given"),
        ("", "curl-like/1.2 (linux) lib/3", "curl-like"),
        ("", "a\x01b/1", "ab"),
        ("", "x" * 200, "x" * 128),
    ],
)
def test_manager_of_a_request(name: str, agent: str, manager: str) -> None:
    assert manager_or_user_agent(name, agent) == manager
