"""Service account tokens are valid as long as the account and the bound object exist."""

from __future__ import annotations

import base64
import threading
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from gateway.access import token_counts
from gateway.access.authentication import InvalidCredentials
from gateway.access.keys import SigningKey, VerificationKey, _verification_key, signing_key
from gateway.access.service_account_tokens import LEGACY_ISSUER, ServiceAccountTokens, Signer
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from gateway.settings.config import Settings

API = ["api"]
ISSUER = "https://issuer"


class Objects(dict[tuple[str, str, str], JsonObject]):
    async def get(  # type: ignore[override]  # as `gateway.kinds.objects` has it
        self, gvr: GroupVersionResource, namespace: str, name: str
    ) -> JsonObject | None:
        return super().get((gvr.resource, namespace, name))


def key(kind: str = "EC") -> SigningKey:
    private: Any = ec.generate_private_key(ec.SECP256R1()) if kind == "EC" else rsa.generate_private_key(65537, 2048)
    return SigningKey(private, _verification_key(Path("key"), private.public_key()))


KEY = key()


def world() -> Objects:
    found = Objects()
    found["serviceaccounts", "x", "robot"] = {"metadata": {"uid": "1"}}
    for prefix, namespace, uid in (("pods", "x", "2"), ("secrets", "x", "3"), ("nodes", "", "4")):
        found[prefix, namespace, "a"] = {"metadata": {"uid": uid}}
    return found


def claims(**private: Any) -> JsonObject:
    now = int(time.time())
    own = {"namespace": "x", "serviceaccount": {"name": "robot", "uid": "1"}, **private}
    return {"iss": ISSUER, "aud": API, "iat": now, "nbf": now, "exp": now + 600, "jti": "j", "kubernetes.io": own}


def authenticator(objects: Objects, *keys: SigningKey) -> ServiceAccountTokens:
    return ServiceAccountTokens([ISSUER], lambda: [each.public for each in keys or (KEY,)], API, objects)


async def refused(claims: JsonObject, objects: Objects | None = None, audiences: list[str] = API) -> str:
    token = Signer(ISSUER, KEY).sign(claims)
    with pytest.raises(InvalidCredentials) as error:
        await authenticator(world() if objects is None else objects).authenticate(token, audiences)
    return str(error.value)


@pytest.mark.parametrize("kind", ["EC", "RSA"])
async def test_a_token_is_its_accounts(kind: str) -> None:
    signer = key(kind)
    token = Signer(ISSUER, signer).sign(claims(pod={"name": "a", "uid": "2"}, node={"name": "n", "uid": "9"}))
    found = await authenticator(world(), KEY, signer).authenticate(token, ["other", "api"])
    assert found is not None
    assert (found.user.name, found.user.uid, found.audiences) == ("system:serviceaccount:x:robot", "1", ("api",))
    assert found.user.groups == ("system:serviceaccounts", "system:serviceaccounts:x")
    extra = dict(found.user.extra)
    assert extra["authentication.kubernetes.io/credential-id"] == ("JTI=j",)
    assert extra["authentication.kubernetes.io/node-name"] == ("n",)


@pytest.mark.parametrize(
    ("bound", "place"),
    [
        ({}, ("serviceaccounts", "x", "robot")),
        ({"pod": {"name": "a", "uid": "2"}}, ("pods", "x", "a")),
        ({"secret": {"name": "a", "uid": "3"}}, ("secrets", "x", "a")),
        ({"node": {"name": "a", "uid": "4"}}, ("nodes", "", "a")),
    ],
)
async def test_it_goes_with_what_it_is_bound_to(bound: JsonObject, place: tuple[str, str, str]) -> None:
    objects = world()
    token, tokens = Signer(ISSUER, KEY).sign(claims(**bound)), authenticator(objects)
    assert await tokens.authenticate(token, API)
    for metadata in ({"uid": "new"}, {**objects[place]["metadata"], "deletionTimestamp": "2020-01-01T00:00:00Z"}):
        kept, objects[place] = objects[place], {"metadata": metadata}
        with pytest.raises(InvalidCredentials):
            await tokens.authenticate(token, API)
        objects[place] = kept
    del objects[place]
    with pytest.raises(InvalidCredentials):
        await tokens.authenticate(token, API)


async def test_times_and_audiences_count() -> None:
    assert await refused(claims() | {"exp": time.time() - 100}) == "service account token has expired"
    assert await refused(claims() | {"nbf": time.time() + 100}) == "service account token is not valid yet"
    text = 'token audiences ["api"] is invalid for the target audiences ["other"]'
    assert await refused(claims(), audiences=["other"]) == text


async def test_a_long_token_is_verified_in_a_thread() -> None:
    """The verification calls `keys` first, so the thread of that call is the thread that verifies."""
    verifying: list[threading.Thread] = []

    def keys() -> list[VerificationKey]:
        verifying.append(threading.current_thread())
        return [KEY.public]

    for count in (1, 5000):
        audiences = [f"audience-{number}" for number in range(count)]
        token = Signer(ISSUER, KEY).sign(claims() | {"aud": audiences})
        found = await ServiceAccountTokens([ISSUER], keys, API, world()).authenticate(token, audiences[-1:])
        assert found is not None and found.audiences == (audiences[-1],)
    here = threading.current_thread()
    assert [each is here for each in verifying] == [True, False]


async def test_another_key_or_issuer_is_no_good() -> None:
    token = Signer(ISSUER, key()).sign(claims())
    with pytest.raises(InvalidCredentials, match="no keys found"):
        await authenticator(world()).authenticate(token, API)
    header, payload, signature = Signer(ISSUER, KEY).sign(claims()).split(".")
    forged = base64.urlsafe_b64encode(base64.urlsafe_b64decode(payload + "==").replace(b"robot", b"admin")).decode()
    with pytest.raises(InvalidCredentials):
        await authenticator(world()).authenticate(f"{header}.{forged.rstrip('=')}.{signature}", API)
    elsewhere = Signer(ISSUER, KEY).sign(claims() | {"iss": "elsewhere"})
    for text in (elsewhere, "a.b.c", "", "x", "..", "e30.e30.e30", "\udcff.a.b"):
        assert await authenticator(world()).authenticate(text, API) is None


async def test_a_token_that_names_no_key_is_tried_with_all() -> None:
    """As kube-apiserver: one that names a key is tried with that key alone."""
    unnamed = jwt.encode(claims(), KEY.key, "ES256")
    assert await authenticator(world(), key(), KEY).authenticate(unnamed, API)
    with pytest.raises(InvalidCredentials):
        await authenticator(world(), key()).authenticate(unnamed, API)
    misnamed = jwt.encode(claims(), KEY.key, "ES256", headers={"kid": "other"})
    with pytest.raises(InvalidCredentials, match="no keys found"):
        await authenticator(world(), KEY).authenticate(misnamed, API)


async def test_a_legacy_token_is_its_secrets() -> None:
    prefix = "kubernetes.io/serviceaccount/"
    legacy = {"iss": LEGACY_ISSUER, "sub": "system:serviceaccount:x:robot", f"{prefix}namespace": "x"}
    legacy |= {f"{prefix}secret.name": "a", f"{prefix}service-account.name": "robot"}
    token = Signer(ISSUER, KEY).sign(legacy | {f"{prefix}service-account.uid": "1"})
    objects = world()
    tokens = authenticator(objects)
    with pytest.raises(InvalidCredentials, match="does not match server's copy"):
        await tokens.authenticate(token, API)
    objects["secrets", "x", "a"]["data"] = {"token": base64.b64encode(token.encode()).decode()}
    counts = token_counts.LEGACY, token_counts.MANUAL, token_counts.AUTOMATIC
    before = [each.value for each in counts]
    found = await tokens.authenticate(token, API)
    assert found is not None and found.user.name == "system:serviceaccount:x:robot"
    objects["serviceaccounts", "x", "robot"]["secrets"] = [{"name": "a"}]
    await tokens.authenticate(token, API)
    assert [each.value - past for each, past in zip(counts, before, strict=True)] == [2, 1, 1]
    del objects["secrets", "x", "a"]
    with pytest.raises(InvalidCredentials, match="has been invalidated"):
        await tokens.authenticate(token, API)
    unasked = ServiceAccountTokens([ISSUER], lambda: [KEY.public], API, objects, lookup=False)
    assert await unasked.authenticate(token, API) is not None


def test_the_key_is_made_once(tmp_path: Path) -> None:
    made = signing_key(Settings(cert_dir=tmp_path))
    signing_key.__globals__["_signing_key"].cache_clear()
    assert signing_key(Settings(cert_dir=tmp_path)).public.identity == made.public.identity
