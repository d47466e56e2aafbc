"""OIDC issuers that lie, redirect, are slow or never end: their tokens are refused, and other requests are not
affected.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import json
import os
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest

from apiserver_gateway.testing import ApiServer
from gateway.access.issuers.key_set import MOST_KEYS, WELL_KNOWN, KeySet
from gateway.credentials.certificates import issue, new_authority, server_context
from tests.hostile.probe import held_at_most, memory_returns
from tests.integration.access.strangers import new_key
from tests.integration.server.client import ask
from tests.until import until

REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
LIMIT = 0.1
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
KEY = new_key()
CROWD = 20

Answer = Callable[[ssl.SSLSocket], None]


def once(answer: bytes) -> Answer:
    return lambda connection: connection.sendall(answer)


def document(found: Any) -> Answer:
    return once(OK + b"\r\n" + json.dumps(found).encode())


def endless(piece: bytes, start: bytes) -> Answer:
    def answer(connection: ssl.SSLSocket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece * 4096)

    return answer


def slow(connection: ssl.SSLSocket) -> None:
    """Sends a byte now and then, for a second."""
    connection.sendall(OK + b"\r\n{")
    for _ in range(20):
        time.sleep(0.05)  # a slow server
        connection.sendall(b" ")


def moved(place: str) -> Answer:
    return once(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())


ANY_ANSWER = {
    "nothing": lambda _: None,
    "no HTTP": once(b"\x00\xff nonsense\r\n\r\n"),
    "half a body": once(OK + b"Content-Length: 100\r\n\r\n{"),
    "an endless head": endless(b"a: b\r\n", OK),
    "an endless body": endless(b" ", OK + b"\r\n"),
    "a deep answer": once(OK + b"\r\n" + b"[" * 500_000),
    "null": document(None),
    "an error": once(b"HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\n{}"),
    "slow": slow,
    "redirected": moved("/elsewhere"),
}
PUBLIC = {**KEY.public.jwk(), "kid": "k"}
KEYS = {
    **ANY_ANSWER,
    "no list": document({"keys": {"a": 1}}),
    "strange members": document(
        {"keys": [None, 7, [], "x", {"kty": ["EC"]}, {**PUBLIC, "x": 5}, {**PUBLIC, "crv": []}]}
    ),
    "no point": document({"keys": [{**PUBLIC, "x": PUBLIC["y"]}]}),
    "a secret": document({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "k"}]}),
    "a large modulus": document({"keys": [{"kty": "RSA", "n": "_" * 900_000, "e": "AQAB", "kid": "k"}]}),
    "a large exponent": document({"keys": [{"kty": "RSA", "n": "_" * 4000, "e": "_" * 3999, "kid": "k"}]}),
    "another's key": document({"keys": [{**new_key().public.jwk(), "kid": "k"}]}),
    "many keys": document({"keys": [{**new_key().public.jwk(), "kid": "k"} for _ in range(20)] * 150}),
}


def modulus(exponent: str, size: int) -> dict[str, str]:
    """A public RSA key without a private key. `size` is in bytes."""
    number = base64.urlsafe_b64encode(b"\xc1" + os.urandom(size - 2) + b"\x01").decode().rstrip("=")
    return {"kty": "RSA", "n": number, "e": exponent, "kid": "k"}


SLOW_KEYS = {
    "keys-large-exponents": ("_" * 508, 384),  # 6 ms for each signature
    "keys-large-moduli": ("f____w", 2048),  # the largest exponent in Go: 2 ms
}
MANY = 64
BULKS = {
    "empty keys": json.dumps({"keys": [{}] * 200_000}, separators=(",", ":")),
    "a key with many members": json.dumps({"keys": [{**PUBLIC, "x5c": [[]] * 200_000}]}, separators=(",", ":")),
}
DISCOVERY = {
    **ANY_ANSWER,
    "another issuer": document({"issuer": "https://127.0.0.1", "jwks_uri": "https://127.0.0.1/keys"}),
    "keys by HTTP": document({"issuer": "SELF", "jwks_uri": "http://127.0.0.1/keys"}),
    "keys of a file": document({"issuer": "SELF", "jwks_uri": "file:///etc/passwd"}),
    "no place": document({"issuer": "SELF", "jwks_uri": ["x"]}),
    "no port": document({"issuer": "SELF", "jwks_uri": "https://127.0.0.1:port/"}),
}


@dataclass
class Issuers:
    """Serves all wrong issuers; the first part of the path names one."""

    url: str
    authority: str
    answers: dict[str, tuple[Answer | None, Answer | None]]

    def serve(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        while True:
            try:
                plain = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._talk, args=(plain, context), daemon=True).start()

    def _talk(self, plain: socket.socket, context: ssl.SSLContext) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            path = connection.recv(65536).split()[1].decode()
            _, which, rest = path.split("/", 2)
            discovery, keys = self.answers[which]
            own = f"{self.url}/{which}"
            if f"/{rest}" == WELL_KNOWN:
                (discovery or document({"issuer": own, "jwks_uri": f"{own}/keys"}))(connection)
            else:
                (keys or document({"keys": [PUBLIC]}))(connection)

    def token(self, which: str, **claims: Any) -> str:
        said = {"iss": f"{self.url}/{which}", "aud": "us", "exp": int(time.time()) + 600, "sub": "ada", **claims}
        return jwt.encode(said, KEY.key, algorithm="ES256", headers={"kid": "k"})


@pytest.fixture(scope="module")
def issuers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuers]:
    directory, authority = tmp_path_factory.mktemp("issuers"), new_authority()
    certificate, key = directory / "issuer.crt", directory / "issuer.key"
    for file, content in zip((certificate, key), issue(authority, ["127.0.0.1"]), strict=True):
        file.write_bytes(content)
    answers: dict[str, tuple[Answer | None, Answer | None]] = {"good": (None, None), "deep": (None, None)}
    answers |= {_place("discovery", name): (answer, None) for name, answer in DISCOVERY.items()}
    answers |= {_place("keys", name): (None, answer) for name, answer in KEYS.items()}
    for name, (exponent, size) in SLOW_KEYS.items():
        answers[name] = (None, document({"keys": [modulus(exponent, size) for _ in range(MANY)]}))
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        made = Issuers(url, authority.certificate.decode(), answers)
        threading.Thread(target=made.serve, args=(listener, server_context(certificate, key)), daemon=True).start()
        yield made


def _place(document: str, lie: str) -> str:
    return f"{document}-{lie.replace(' ', '-')}"


@pytest.fixture(scope="module")
def server_flags(issuers: Issuers, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    expressions = {"username": {"expression": "claims.sub"}, "groups": {"claim": "groups", "prefix": ""}}
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [
            {
                "issuer": {
                    "url": f"{issuers.url}/{each}",
                    "audiences": ["us"],
                    "certificateAuthority": issuers.authority,
                },
                "claimMappings": expressions,
            }
            for each in issuers.answers
        ],
    }
    file: Path = tmp_path_factory.mktemp("configuration") / "authentication.json"
    file.write_text(json.dumps(configuration))
    return (f"--authentication-config={file}",)


def who(server: ApiServer, token: str) -> tuple[int, str]:
    answer = ask(server, "POST", REVIEW, {}, token=token)
    return answer.status, answer.json["status"]["userInfo"]["username"] if answer.status == 201 else ""


@pytest.mark.parametrize("lie", [_place("discovery", lie) for lie in DISCOVERY] + [_place("keys", lie) for lie in KEYS])
def test_who_lies_names_nobody(server: ApiServer, issuers: Issuers, lie: str) -> None:
    until(lambda: who(server, issuers.token("good")) == (201, "ada"))  # with keys that are cached from then on
    with held_at_most(server, LIMIT), memory_returns(server):
        assert who(server, issuers.token(lie)) == (401, "")
        assert who(server, issuers.token("good")) == (201, "ada")


def test_a_slow_issuer_holds_nobody_however_many_ask(server: ApiServer, issuers: Issuers) -> None:
    with held_at_most(server, LIMIT), ThreadPoolExecutor(CROWD) as pool:
        asked = [pool.submit(who, server, issuers.token("keys-slow", n=n)) for n in range(CROWD)]
        assert {job.result() for job in asked} == {(401, "")}


@pytest.mark.parametrize(
    "claims",
    [
        {"deep": json.loads("[" * 900 + "]" * 900)},
        {"groups": ["g"] * 10_000},
        {"groups": [["system:masters"]]},
        {"sub": "a" * 40_000},
        {"sub": ["ada"]},
        {"sub": None},
        {"exp": 1e400, "nbf": -1e400},
        {"exp": "soon"},
        {"aud": ["us", 7, {"a": "b"}], "sub": 7},
        {"iat": {}, "nbf": []},
    ],
)
def test_strange_claims_are_somebodys_or_nobodys(server: ApiServer, issuers: Issuers, claims: dict[str, Any]) -> None:
    with held_at_most(server, LIMIT):
        status, name = who(server, issuers.token("good", **claims))
    assert status in (201, 401) and name in ("", "ada", "a" * 40_000)


def test_no_more_keys_are_tried_than_an_issuer_may_have(server: ApiServer, issuers: Issuers) -> None:
    """A token that names no key is checked with all keys of the issuer, so their number is limited."""
    assert MOST_KEYS <= 100
    said = {"iss": f"{issuers.url}/keys-many-keys", "aud": "us", "exp": int(time.time()) + 600, "sub": "ada"}
    token = jwt.encode(said, KEY.key, algorithm="ES256")
    with held_at_most(server, LIMIT):
        assert who(server, token) == (401, "")


@pytest.mark.parametrize("issuer", SLOW_KEYS)
def test_keys_that_verify_slowly_hold_nobody(server: ApiServer, issuers: Issuers, issuer: str) -> None:
    """None of the keys has signed the token, so that all of them are tried."""
    said = {"iss": f"{issuers.url}/{issuer}", "aud": "us", "exp": int(time.time()) + 600, "sub": "ada"}
    parts = [json.dumps(each).encode() for each in ({"alg": "RS256", "typ": "JWT"}, said)]
    parts.append(b"\1" * SLOW_KEYS[issuer][1])
    token = ".".join(base64.urlsafe_b64encode(each).decode().rstrip("=") for each in parts)
    assert who(server, token) == (401, "")  # the keys are fetched
    with held_at_most(server, LIMIT):
        for _ in range(3):
            assert who(server, token) == (401, "")


@pytest.mark.parametrize("keys", BULKS)
def test_of_a_first_only_what_verifies_is_kept(keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = BULKS[keys]
    first = KeySet("https://issuer", "", "")

    async def answer(url: str) -> Any:
        discovered = {"issuer": "https://issuer", "jwks_uri": "https://issuer/keys"}
        return discovered if url.endswith(WELL_KNOWN) else json.loads(body)

    monkeypatch.setattr(first, "_get", answer)
    asyncio.run(first.keys(""))  # the first call imports modules
    measured = KeySet("https://issuer", "", "")
    monkeypatch.setattr(measured, "_get", answer)
    tracemalloc.start()
    try:
        asyncio.run(measured.keys(""))
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept <= 10 * len(body)
