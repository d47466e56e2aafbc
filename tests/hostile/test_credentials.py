"""Bearer tokens that were not issued: each belongs to a user or to none, or is refused with a message.

HYPOTHESIS_PROFILE=search tries more.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import example, given
from hypothesis import strategies as st

from apiserver_gateway.testing import ApiServer
from gateway.access.authentication import Authenticated, InvalidCredentials
from gateway.access.bootstrap_tokens import BootstrapTokens
from gateway.access.keys import SigningKey, _verification_key
from gateway.access.service_account_tokens import LEGACY_ISSUER, ServiceAccountTokens, Signer
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from tests.hostile.probe import held_at_most
from tests.hostile.test_parsers import SOUP, VALUES
from tests.hostile.wire import Wire

ISSUER = "https://issuer"
PRIVATE = ec.derive_private_key(7, ec.SECP256R1())
KEY = SigningKey(PRIVATE, _verification_key(Path("key"), PRIVATE.public_key()))
OWN = {"namespace": "x", "serviceaccount": {"name": "robot", "uid": "1"}}


class Everything:
    """A cluster in which every requested object exists, with empty data."""

    async def get(self, gvr: GroupVersionResource, namespace: str, name: str) -> JsonObject | None:
        return {"metadata": {"name": name, "uid": "1"}}


AUTHENTICATORS = (
    ServiceAccountTokens([ISSUER], lambda: [KEY.public], ["api"], Everything()),
    BootstrapTokens(Everything()),
)
LEGACY = "kubernetes.io/serviceaccount/"
CLAIMS = st.fixed_dictionaries(
    {"iss": st.sampled_from([ISSUER, LEGACY_ISSUER]) | VALUES},
    optional={
        "aud": st.just(["api"]) | VALUES,
        "exp": st.just(4e9) | VALUES,
        "nbf": st.just(0) | VALUES,
        "iat": st.just(0) | VALUES,
        "sub": st.just("system:serviceaccount:x:robot") | VALUES,
        "kubernetes.io": st.just(OWN) | st.fixed_dictionaries({"namespace": VALUES, "pod": VALUES}) | VALUES,
        f"{LEGACY}namespace": st.just("x") | VALUES,
        f"{LEGACY}secret.name": st.just("s") | VALUES,
        f"{LEGACY}service-account.name": st.just("robot") | VALUES,
    },
)


def part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@st.composite
def tokens(draw: st.DrawFn) -> str:
    """Claims with a valid signature, or parts that may be no JSON, in the wrong number."""
    if draw(st.booleans()):
        with contextlib.suppress(TypeError, ValueError):  # claims that cannot be signed are sent without a signature
            return Signer(ISSUER, KEY).sign(draw(CLAIMS))
    words = SOUP.map(lambda text: text.encode("utf-8", "replace"))
    return ".".join(draw(st.lists((words | st.binary(max_size=20)).map(part), min_size=2, max_size=4)))


@given(tokens() | SOUP)
@example(".".join([part(b"[" * 30_000)] * 3))
@example(".".join([part(b'{"alg":' + b"9" * 5000 + b"}")] * 3))
@example("abcdef.0123456789abcdef")
def test_a_token_is_somebodys_or_nobodys_or_refused(token: str) -> None:
    for authenticator in AUTHENTICATORS:
        with contextlib.suppress(InvalidCredentials):
            found = asyncio.run(authenticator.authenticate(token, ["api"]))
            assert found is None or isinstance(found, Authenticated)


class OneSecret:
    """A cluster that has one bootstrap token."""

    def __init__(self, **data: str) -> None:
        sound = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"}
        self._data = {key: base64.b64encode(text.encode()).decode() for key, text in {**sound, **data}.items()}

    async def get(self, gvr: GroupVersionResource, namespace: str, name: str) -> JsonObject | None:
        return {"metadata": {"name": name}, "type": "bootstrap.kubernetes.io/token", "data": self._data}


@pytest.mark.parametrize(
    ("data", "holds"),
    [
        ({}, True),
        ({"expiration": "2999-01-01T00:00:00Z"}, True),
        ({"expiration": "2999-01-01T00:00:00.5+02:00"}, True),
        ({"expiration": "2000-01-01T00:00:00Z"}, False),
        ({"expiration": "29990101T000000Z"}, False),
        ({"expiration": "2999-W01-1T00:00:00Z"}, False),
        ({"expiration": "2999-01-01 00:00:00+00:00"}, False),
        ({"expiration": "2999-01-01T00:00+00:00"}, False),
        ({"auth-extra-groups": "system:bootstrappers:a,system:bootstrappers:b"}, True),
        ({"auth-extra-groups": "system:bootstrappers:a,"}, False),
        ({"auth-extra-groups": ","}, False),
    ],
)
def test_a_bootstrap_token_is_read_as_go_reads_it(data: dict[str, str], holds: bool) -> None:
    """As in cluster-bootstrap's util/secrets: the time is in Go's RFC 3339, and no group may have an empty name."""
    found = asyncio.run(BootstrapTokens(OneSecret(**data)).authenticate("abcdef.0123456789abcdef", []))
    assert (found is not None) is holds


@pytest.mark.parametrize(
    "claims",
    [b'{"iss":"kubernetes/serviceaccount","a":' + b"[" * 30_000, b'{"a":{' + b",".join([b'"a":1'] * 90_000) + b"}}"],
    ids=["deep", "wide"],
)
def test_a_long_token_holds_nobody(server: ApiServer, claims: bytes) -> None:
    token = ".".join([part(b'{"alg":"RS256"}'), part(claims), part(b"signature")])
    with held_at_most(server, 0.1), Wire(server) as wire:
        for _ in range(3):
            wire.request("GET /api/v1/pods", f"Authorization: Bearer {token}", token=False)
            assert wire.reply().status == 401
