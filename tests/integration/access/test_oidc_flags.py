"""The issuer of the --oidc-* flags: which claims make the user, and which claims are required."""

from __future__ import annotations

from collections.abc import Iterator

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.access.keys import SigningKey
from tests.forked import api_server
from tests.integration.access.conftest import World
from tests.integration.access.strangers import Strangers, new_key
from tests.until import until


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("oidc")
    strangers = Strangers(directory)
    authority = directory / "authority.crt"
    authority.write_text(strangers.authority)
    flags = (
        f"--oidc-issuer-url={strangers.url}",
        f"--oidc-ca-file={authority}",
        "--oidc-client-id=us",
        "--oidc-username-claim=email",
        "--oidc-username-prefix=mail:",
        "--oidc-groups-claim=teams",
        "--oidc-groups-prefix=team:",
        "--oidc-required-claim=tenant=acme",
        "--oidc-required-claim=level=1",
        "--oidc-signing-algs=ES256",
    )
    try:
        with api_server(*flags) as server:
            made = World(server, strangers, directory)
            until(lambda: made.who(strangers.token(ADA)) != "Unauthorized")  # the issuer's keys are fetched beside
            yield made
    finally:
        strangers.close()


ADA = {"sub": "1", "email": "ada@acme", "tenant": "acme", "level": "1"}


def test_claims_make_the_user_with_their_prefixes(world: World) -> None:
    user = world.who(world.strangers.token(ADA | {"teams": ["red", "blue"]}))
    assert (user["username"], user["groups"]) == ("mail:ada@acme", ["team:red", "team:blue", "system:authenticated"])
    assert world.who(world.strangers.token(ADA | {"teams": "red"}))["groups"] == ["team:red", "system:authenticated"]


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"aud": "them"}, "expected audience in"),
        ({"tenant": "other"}, "required claim tenant value does not match"),
        ({"email_verified": False}, "email not verified"),
        ({"iss": "https://elsewhere"}, "invalid bearer token"),
    ],
)
def test_a_token_that_says_otherwise_is_refused(world: World, claims: dict[str, object], said: str) -> None:
    token = world.strangers.token(ADA | claims)
    assert world.who(token) == "Unauthorized"
    assert said in world.review(token)["error"]


def test_a_claim_that_is_required_and_missing(world: World) -> None:
    assert "level" in world.review(world.strangers.token({each: ADA[each] for each in ADA if each != "level"}))["error"]


def test_another_algorithm_is_refused(world: World) -> None:
    key = ec.generate_private_key(ec.SECP384R1())
    said = {"iss": world.strangers.url, "aud": "us", "exp": 1 << 33, **ADA}
    assert world.who(jwt.encode(said, key, algorithm="ES384")) == "Unauthorized"


def test_keys_of_the_issuer_are_rotated(world: World) -> None:
    strangers = world.strangers
    old, new = strangers.keys[0], new_key()

    def name(key: SigningKey) -> str:
        found = world.who(strangers.token(ADA, key))
        return "" if isinstance(found, str) else str(found["username"])

    assert (name(old), name(new)) == ("mail:ada@acme", "")
    strangers.keys[:] = [new]
    until(lambda: name(new) == "mail:ada@acme")
    assert name(old) == ""
