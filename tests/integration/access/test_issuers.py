"""Tokens of an issuer give the users that the configuration defines; its keys rotate, and the file is read again."""

from __future__ import annotations

import time

from tests.integration.access.conftest import World, authentication
from tests.integration.access.strangers import new_key
from tests.limits import within
from tests.until import until


def test_claims_become_a_user(world: World) -> None:
    token = world.strangers.token({"sub": "ada", "roles": ["people", ""], "tenant": "acme", "jti": "7"})
    assert world.who(token) == {
        "username": "oidc:ada",
        "uid": "ada",
        "groups": ["people", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": ["JTI=7"], "example.org/tenant": ["acme"]},
    }


def test_half_a_surrogate_pair_in_a_claim_is_replaced(world: World) -> None:
    """Go replaces it, too. So the name can be encoded in all answers."""
    found = world.who(world.strangers.token({"sub": "a\ud800da", "roles": ["\udfffpeople"], "jti": "\ud83d\ude00"}))
    assert not isinstance(found, str)
    assert (found["username"], found["groups"][0]) == ("oidc:a\ufffdda", "\ufffdpeople")
    assert found["extra"]["authentication.kubernetes.io/credential-id"] == ["JTI=\U0001f600"]


def test_rules_of_claims_and_users_are_kept(world: World) -> None:
    token = world.strangers.token
    assert world.who(token({"sub": "ada", "level": 5})) == "Unauthorized"
    assert "too high" in world.review(token({"sub": "ada", "level": 5}))["error"]
    assert "reserved" in world.review(token({"sub": "system:admin"}))["error"]
    assert "no such key" in world.review(token({}))["error"]


def test_what_is_void_is_refused(world: World) -> None:
    token = world.strangers.token
    assert "token is expired" in world.review(token({"sub": "ada"}, exp=int(time.time()) - 5))["error"]
    assert 'expected audience in ["us"] got ["them"]' in world.review(token({"sub": "ada"}, aud="them"))["error"]
    assert "not before" in world.review(token({"sub": "ada"}, nbf=int(time.time()) + 900))["error"]
    good = token({"sub": "ada"})
    assert "malformed" in world.review(good[: good.index(".")] + "x" + good[good.index(".") :])["error"]
    assert "failed to verify" in world.review(good[:-8] + "AAAAAAAA")["error"]


def test_keys_are_rotated(world: World) -> None:
    strangers = world.strangers
    world.who(strangers.token({"sub": "ada"}))
    fetched = strangers.fetched
    for count in range(20):
        world.who(strangers.token({"sub": f"bob-{count}"}))
    assert strangers.fetched - fetched < 10  # that may look for other keys beside, from time to time
    strangers.keys.insert(0, new_key())
    token = strangers.token({"sub": "ada"})
    until(lambda: world.who(token) != "Unauthorized")
    assert world.who(token)["username"] == "oidc:ada"
    assert world.who(strangers.token({"sub": "eve"}, new_key())) == "Unauthorized"


def test_a_key_that_is_gone_lets_nobody_in(world: World) -> None:
    strangers = world.strangers
    stolen = strangers.token({"sub": "mallory"})
    assert world.who(stolen)["username"] == "oidc:mallory"
    strangers.keys = [new_key()]
    with within(15):  # 10 s between two looks, as kube-apiserver, and the time of a look
        until(lambda: world.who(stolen) == "Unauthorized")  # it was accepted before, and no other token is sent
    assert world.who(strangers.token({"sub": "ada"}))["username"] == "oidc:ada"


def test_anonymous_requests_have_their_paths(world: World) -> None:
    assert world.get("/livez?exclude=etcd", None).status == 200
    assert world.get("/readyz", None).status == 401
    assert world.get("/version", None).status == 401


def name(world: World, token: str) -> str:
    found = world.who(token)
    return "" if isinstance(found, str) else str(found["username"])


def test_the_file_is_read_anew(world: World) -> None:
    strangers = world.strangers
    changed = authentication(strangers, anonymous={"enabled": True})
    changed["jwt"][0]["claimMappings"]["username"] = {"expression": "'changed:' + claims.sub"}
    token = strangers.token({"sub": "ada"})
    assert world.who(token)["username"] == "oidc:ada"
    world.configure("authentication.json", changed)
    until(lambda: name(world, token) == "changed:ada")
    assert world.get("/version", None).status == 200
    world.configure("authentication.json", "kind: Nothing")
    until(lambda: "it must be of kind AuthenticationConfiguration" in world.server.log_file.read_text())
    assert world.who(token)["username"] == "changed:ada"
    world.configure("authentication.json", authentication(strangers))
    until(lambda: name(world, token) == "oidc:ada")
