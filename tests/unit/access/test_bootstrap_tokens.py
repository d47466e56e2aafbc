"""A bootstrap token authenticates if its secret says so in each of its fields."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from gateway.access.bootstrap_tokens import BootstrapTokens

TOKEN = "abcdef.0123456789abcdef"
DATA = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": "system:bootstrappers:b,system:bootstrappers:a",
    "expiration": "2999-01-01T00:00:00Z",
}
TYPE = "bootstrap.kubernetes.io/token"


async def groups_of(token: str = TOKEN, secret: Any = None, **changed: str | None) -> tuple[str, ...] | None:
    """The groups of the user that a token authenticates; None if it authenticates nobody."""
    data = {key: value for key, value in (DATA | changed).items() if value is not None}
    stored = {"type": TYPE, "metadata": {}} | (secret or {})
    stored["data"] = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    asked = []

    class Reader:
        async def get(self, gvr: Any, namespace: str, name: str) -> Any:
            asked.append((gvr.resource, namespace, name))
            return stored if name == "bootstrap-token-abcdef" else None

    reader: Any = Reader()
    found = await BootstrapTokens(reader).authenticate(token, ["one"])
    assert all(each[:2] == ("secrets", "kube-system") for each in asked)
    if found is None:
        return None
    assert found.user.name == "system:bootstrap:abcdef" and found.audiences == ("one",)
    return found.user.groups


async def test_a_token_is_its_id_and_its_groups() -> None:
    everybody = "system:bootstrappers"
    assert await groups_of() == (everybody, f"{everybody}:a", f"{everybody}:b")
    assert await groups_of(**{"auth-extra-groups": None}) == (everybody,)
    assert await groups_of(**{"expiration": None}) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"token-secret": "0123456789abcdee"},
        {"token-secret": None},
        {"token-id": "abcdeg"},
        {"usage-bootstrap-authentication": "false"},
        {"usage-bootstrap-authentication": None},
        {"auth-extra-groups": "system:bootstrappers:a,"},
        {"auth-extra-groups": "system:masters"},
        {"expiration": "2001-01-01T00:00:00Z"},
        {"expiration": "2999-01-01"},
        {"expiration": "tomorrow"},
    ],
    ids=str,
)
async def test_each_field_of_the_secret_counts(changed: dict[str, str | None]) -> None:
    assert await groups_of(**changed) is None


@pytest.mark.parametrize(
    "secret", [{"type": "Opaque"}, {"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}}], ids=str
)
async def test_the_secret_is_one_for_tokens_and_stays(secret: dict[str, Any]) -> None:
    assert await groups_of(secret=secret) is None


@pytest.mark.parametrize(
    "token", ["abcdef", "abcdef.0123456789abcde", "abcdef.0123456789abcdeF", "abcdeg.0123456789abcdef"]
)
async def test_another_token_is_nobody(token: str) -> None:
    assert await groups_of(token) is None
