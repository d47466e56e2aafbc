"""Clients that claim another identity: by forged headers, by tokens of deleted objects, and by the testing API."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import processes
from tests.integration.server.client import Answer, ask
from tests.until import until

CORE = "/api/v1/namespaces/default"
SYSTEM = "/api/v1/namespaces/kube-system/secrets"
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ALL = 12  # connections, so that each of a few processes gets at least one
EACH = 32  # connections: enough to reach each of two processes
FORGED = {
    "X-Remote-User": "admin",
    "X-Remote-Uid": "1",
    "X-Remote-Group": "system:masters",
    "X-Remote-Extra-Scopes": "all",
}
TESTING = (
    ("POST", "/testing/users", {"name": "eve", "groups": ["system:masters"]}),
    ("POST", "/testing/clock", {"advance": 3600}),
    ("POST", "/testing/snapshots", {}),
    ("PUT", "/testing/snapshots/a", {}),
    ("DELETE", "/testing/snapshots/a", None),
)


@pytest.fixture(scope="module")
def server_flags() -> tuple[str, ...]:
    return ("--enable-bootstrap-token-auth",)


def who(server: ApiServer, token: str | None, headers: dict[str, str] | None = None) -> Answer:
    return ask(server, "POST", REVIEW, {}, token=token, headers=headers)


def status_of(server: ApiServer, token: str) -> int:
    return who(server, token).status


def is_void(server: ApiServer, token: str) -> bool:
    """Whether a token is refused: at once by the process that handled the deletion, soon by the other workers."""
    if len(processes(server.pid)) == 1:
        return status_of(server, token) == 401
    until(lambda: all(status_of(server, token) == 401 for _ in range(ALL)))
    return True


def is_known(server: ApiServer, token: str) -> bool:
    """Whether all workers accept a token; some learn of it later than others."""
    count = 1 if len(processes(server.pid)) == 1 else EACH
    return all(status_of(server, token) == 201 for _ in range(count))


@pytest.fixture
def account(server: ApiServer) -> Iterator[tuple[str, str]]:
    """A service account, and a token for it."""
    name = f"forger-{time.monotonic_ns()}"
    assert ask(server, "POST", f"{CORE}/serviceaccounts", {"metadata": {"name": name}}).status == 201
    yield name, token_of(server, name)
    ask(server, "DELETE", f"{CORE}/serviceaccounts/{name}")


def token_of(server: ApiServer, name: str, **spec: Any) -> str:
    made = ask(server, "POST", f"{CORE}/serviceaccounts/{name}/token", {"spec": spec})
    assert made.status == 201, made.body
    token: str = made.json["status"]["token"]
    return token


def test_nobody_is_believed_who_is_no_front_proxy(server: ApiServer, account: tuple[str, str]) -> None:
    _, token = account
    assert who(server, None, FORGED).status in (401, 403)
    names = who(server, token, FORGED).json["status"]["userInfo"]
    assert names["username"].startswith("system:serviceaccount:") and "system:masters" not in names["groups"]
    for variant in ({"X-Remote-User": "admin"}, {"x_remote_user": "admin", "x_remote_group": "system:masters"}):
        assert ask(server, "GET", "/api/v1/secrets", token=token, headers=variant).status == 403


@pytest.mark.parametrize(("method", "path", "body"), TESTING)
def test_the_testing_api_is_for_those_who_may_do_anything(
    server: ApiServer, account: tuple[str, str], method: str, path: str, body: object
) -> None:
    _, token = account
    impersonating = {"Impersonate-User": "admin", "Impersonate-Group": "system:masters"}
    for given, headers in ((None, {}), (None, FORGED), (token, {}), (token, FORGED), (token, impersonating)):
        for spelt in (path, path + "/", "/" + path, path.replace("/testing", "/%74esting")):
            refused = ask(server, method, spelt, body, token=given, headers=headers)
            assert refused.status in (401, 403), (spelt, refused.status, refused.body)


def test_tokens_of_what_is_gone_are_void_at_once(server: ApiServer, account: tuple[str, str]) -> None:
    name, token = account
    secret = {"metadata": {"name": f"of-{name}"}}
    assert ask(server, "POST", f"{CORE}/secrets", secret).status == 201
    bound = token_of(server, name, boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": f"of-{name}"})
    assert [status_of(server, each) for each in (token, bound)] == [201, 201]
    assert ask(server, "DELETE", f"{CORE}/secrets/of-{name}").status == 200
    assert is_void(server, bound) and status_of(server, token) == 201
    assert ask(server, "POST", f"{CORE}/secrets", secret).status == 201  # another secret with the same name
    assert is_void(server, bound)
    assert ask(server, "DELETE", f"{CORE}/serviceaccounts/{name}").status == 200
    assert is_void(server, token)
    assert ask(server, "POST", f"{CORE}/serviceaccounts", {"metadata": {"name": name}}).status == 201
    assert is_void(server, token)


def bootstrap(identity: str, secret: str, **more: str) -> dict[str, Any]:
    data = {"token-id": identity, "token-secret": secret, "usage-bootstrap-authentication": "true", **more}
    return {
        "metadata": {"name": f"bootstrap-token-{identity}"},
        "type": "bootstrap.kubernetes.io/token",
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items() if value},
    }


BAD = {
    "another secret": {"token-secret": "0" * 16},
    "another id": {"token-id": "zzzzzz"},
    "not for that": {"usage-bootstrap-authentication": "false"},
    "no usage": {"usage-bootstrap-authentication": ""},
    "expired": {"expiration": "2001-01-01T00:00:00Z"},
    "an expiry that is none": {"expiration": "never"},
    "groups that would be masters": {"auth-extra-groups": "system:masters"},
    "groups of another sort": {"auth-extra-groups": "system:bootstrappers:,"},
}


@pytest.mark.parametrize("bad", BAD)
def test_bootstrap_tokens_that_are_not_sound(server: ApiServer, bad: str) -> None:
    identity, secret = "abcdef", "0123456789abcdef"
    token = f"{identity}.{secret}"
    made = ask(server, "POST", SYSTEM, bootstrap(identity, secret, **BAD[bad]))
    assert made.status in (201, 422), made.body
    assert status_of(server, token) == 401
    ask(server, "DELETE", f"{SYSTEM}/bootstrap-token-{identity}")


def test_a_bootstrap_token_ends_with_its_secret(server: ApiServer) -> None:
    identity, secret = "fedcba", "0123456789abcdef"
    token = f"{identity}.{secret}"
    assert ask(server, "POST", SYSTEM, bootstrap(identity, secret)).status == 201
    until(lambda: is_known(server, token))
    user = who(server, token).json["status"]["userInfo"]
    assert user["username"] == f"system:bootstrap:{identity}" and "system:masters" not in user["groups"]
    for other in (f"{identity}.{secret}0", f"{identity}.{secret[:-1]}", f"{identity}.", f".{secret}", f"../{token}"):
        assert status_of(server, other) == 401, other
    assert ask(server, "DELETE", f"{SYSTEM}/bootstrap-token-{identity}").status == 200
    assert is_void(server, token)


def test_tokens_with_forged_heads_and_claims(server: ApiServer, account: tuple[str, str]) -> None:
    _, token = account
    head, claims, signature = token.split(".")

    def part(text: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return found

    def encoded(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    forged = {**part(claims), "sub": "system:serviceaccount:kube-system:namespace-controller"}
    for header in (part(head), {**part(head), "alg": "none"}, {**part(head), "alg": "HS256"}, {"alg": "NONE"}):
        for made in (part(claims), forged):
            for ending in (signature, "", "AAAA"):
                if (header, made, ending) != (part(head), part(claims), signature):
                    assert status_of(server, f"{encoded(header)}.{encoded(made)}.{ending}") == 401
