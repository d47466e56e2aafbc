"""Request lines and headers of clients without credentials: their size, their number, the Accept header."""

from __future__ import annotations

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.selectors.labels import MOST_REQUIREMENTS
from tests.hostile.probe import held_at_most, memory_returns
from tests.hostile.wire import Wire
from tests.integration.server.client import ask

NAMESPACE = "/api/v1/namespaces/default"
MEGABYTE = 1 << 20
TOO_LARGE = 431
LIMIT = 0.1  # seconds that a client without credentials may delay others


def test_headers_of_nearly_a_megabyte_are_read(server: ApiServer) -> None:
    """kube-apiserver reads them too."""
    with held_at_most(server, LIMIT), Wire(server) as wire:
        wire.request(f"GET {NAMESPACE}", f"X: {'a' * (MEGABYTE - 1000)}")
        assert wire.reply().status == 200
        wire.request(f"GET {NAMESPACE}", *(f"a{number}: b" for number in range(50_000)))
        assert wire.reply().status == 200


@pytest.mark.parametrize("headers", [("X: " + "a" * 5 * MEGABYTE,), tuple(f"a{n}: b" for n in range(400_000))])
@pytest.mark.parametrize("token", [True, False])
def test_more_is_431_and_the_end_of_the_connection(server: ApiServer, headers: tuple[str, ...], token: bool) -> None:
    with held_at_most(server, LIMIT), memory_returns(server), Wire(server) as wire:
        wire.offer(wire.head(f"GET {NAMESPACE}", *headers, token=token))
        reply = wire.reply()
        assert (reply.status, reply.headers["connection"]) == (TOO_LARGE, "close")
        assert wire.is_closed()


def test_headers_that_never_end_are_refused_as_they_come(server: ApiServer) -> None:
    with held_at_most(server, LIMIT), memory_returns(server), Wire(server) as wire:
        wire.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        with pytest.raises(OSError):
            while True:  # until the server closes the connection
                wire.send(b"a" * 65536)


@pytest.mark.parametrize("where", ["?x=", "/"])
def test_long_urls_are_served(server: ApiServer, where: str) -> None:
    with held_at_most(server, LIMIT):
        expected = 200 if where == "?x=" else 404
        with Wire(server) as wire:
            wire.request(f"GET /api/v1/namespaces{where}{'a' * 1_000_000}")
            assert wire.reply().status == expected


@pytest.mark.parametrize("piece", ["%41", "/", "a/", "%2f", "%ff", "%01", "%22", "&", "%e2%80%8b"])
def test_long_paths_hold_nobody(server: ApiServer, piece: str) -> None:
    """Long paths delay no other request, in any representation of the answer and with any escaped characters."""
    with held_at_most(server, LIMIT), Wire(server) as wire:
        for start in ("/api/v1/", "/api/v1/namespaces/"):
            path = start + piece * (1_000_000 // len(piece))
            for token, accept in ((False, "application/json"), (False, "application/yaml"), (True, "application/yaml")):
                wire.request(f"GET {path}", f"Accept: {accept}", token=token)
                reply = wire.reply()
                assert reply.status in ((200, 404) if token else (403,))
                assert len(reply.body) < 200_000  # the message has two names of 8192 characters, each of up to 7 bytes


@pytest.mark.parametrize("pair", ["a&", "%41&", "a=%41&", "&", "watch=1&", "fieldSelector=metadata.name%3Da&"])
def test_queries_of_many_parameters_hold_nobody(server: ApiServer, pair: str) -> None:
    query = pair * (1_000_000 // len(pair))
    with held_at_most(server, LIMIT), Wire(server) as wire:
        for token in (False, True):
            wire.request(f"GET {NAMESPACE}?{query}", token=token)
            assert wire.reply().status == (200 if token else 403)


ACCEPTS = {
    "clauses": ",".join(f"a{number}/b;q=0.{number % 10}" for number in range(60_000)),
    "wildcards": "*/*," * 250_000,
    "commas": "," * 1_000_000,
    "parameters": "application/json" + ";a=b" * 250_000,
    "refusable": "*/*;as=Table," * 70_000,
    "refusable ones": ",".join(f"*/*;as=Table;x={number}" for number in range(45_000)),
}


@pytest.mark.parametrize("accept", ACCEPTS.values(), ids=ACCEPTS)
def test_an_accept_header_holds_nobody(server: ApiServer, accept: str) -> None:
    with held_at_most(server, LIMIT), Wire(server) as wire:
        for path, token in ((NAMESPACE, False), (NAMESPACE, True), ("/apis", True)):
            wire.request(f"GET {path}", f"Accept: {accept}", token=token)
            assert wire.reply().status in ((200, 406) if token else (403,))


def test_many_clauses_are_read_to_the_last(server: ApiServer) -> None:
    """As in kube-apiserver, all clauses are read, and the best one is used wherever it stands."""
    clauses = ",".join(f"a{number}/b;q=0.5" for number in range(2500))
    answer = ask(server, "GET", NAMESPACE, headers={"Accept": f"{clauses},application/yaml"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/yaml")


def test_who_is_refused_gets_what_he_accepts_if_that_is_said_shortly(server: ApiServer) -> None:
    refused = ask(server, "GET", NAMESPACE, token=None, headers={"Accept": "application/yaml"})
    assert (refused.status, refused.headers["content-type"]) == (403, "application/yaml")
    long = f"application/yaml;a={'b' * 1000}"
    refused = ask(server, "GET", NAMESPACE, token=None, headers={"Accept": long})
    assert (refused.status, refused.headers["content-type"]) == (403, "application/json")


@pytest.mark.parametrize("token", [True, False])
def test_long_headers_are_not_remembered(server: ApiServer, token: bool) -> None:
    with held_at_most(server, LIMIT), memory_returns(server), Wire(server) as wire:
        for number in range(150):
            accept = f"application/json,a/b;n={number};x={'a' * 500_000}"
            wire.request(f"GET {NAMESPACE}", f"Accept: {accept}", token=token)
            assert wire.reply().status == (200 if token else 403)


@pytest.mark.parametrize("what", ["path", "query", "name"])
def test_long_urls_are_not_remembered(server: ApiServer, what: str) -> None:
    with held_at_most(server, LIMIT), memory_returns(server), Wire(server) as wire:
        for number in range(300):
            text = f"{number:060000d}"
            target = {"path": f"{NAMESPACE}/{text}", "query": f"{NAMESPACE}?{text}", "name": f"{NAMESPACE}s/{text}"}
            wire.request(f"GET {target[what]}")
            assert wire.reply().status in (200, 404)


@pytest.mark.parametrize("requirement", ["a{:05}", "a{:05}=b", "a{:05} in (b,c)", "!a{:05}", "a notin (b{:05})"])
def test_long_selectors_are_not_remembered(server: ApiServer, requirement: str) -> None:
    with memory_returns(server), Wire(server) as wire:
        for number in range(25):
            terms = (requirement.format(number * 10 + index % 90_000) for index in range(MOST_REQUIREMENTS))
            selector = ",".join(terms).replace(" ", "%20")
            wire.request(f"GET {NAMESPACE}/configmaps?labelSelector={selector}")
            assert wire.reply().status == 200


def test_long_field_selectors_are_not_remembered(server: ApiServer) -> None:
    with memory_returns(server), Wire(server) as wire:
        for number in range(50):
            selector = ",".join([f"metadata.name!=a{number}"] * 2500)
            wire.request(f"GET {NAMESPACE}/configmaps?fieldSelector={selector}")
            assert wire.reply().status == 200


@pytest.mark.parametrize(
    "name",
    ["Accept-Encoding", "Authorization", "Content-Type", "If-None-Match", "Impersonate-User", "User-Agent"],
)
@pytest.mark.parametrize("piece", ["a", ",", ";", "a=b;", "a,", "\xff", "Bearer "])
def test_no_header_is_too_long_for_the_others(server: ApiServer, name: str, piece: str) -> None:
    header = f"{name}: {piece * (1_000_000 // len(piece))}"
    data = b'{"metadata":{"name":"a/b"}}'
    with held_at_most(server, LIMIT), Wire(server) as wire:
        for line, token in (
            (f"GET {NAMESPACE}", False),
            ("GET /apis", True),
            (f"POST {NAMESPACE}/secrets", True),
        ):
            headers = (header,) if line.startswith("GET") else (header, f"Content-Length: {len(data)}")
            wire.request(line, *headers, token=token, body=data if line.startswith("POST") else b"")
            assert wire.reply().status < 500
