"""Requests that some servers handle wrongly: upgrades, pipelined requests, unknown methods, odd bodies."""

from __future__ import annotations

import json
import uuid

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most, memory_returns
from tests.hostile.wire import Wire
from tests.integration.server.client import ask

NAMESPACE = "/api/v1/namespaces/default"
CONFIG_MAPS = f"{NAMESPACE}/configmaps"
UPGRADE = ("Connection: Upgrade", "Upgrade: websocket")
JSON = "Content-Type: application/json"


def body(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}}).encode()


def chunked(data: bytes) -> bytes:
    return b"".join(b"1\r\n%c\r\n" % byte for byte in data) + b"0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize("pieces", [1, 2, 1000])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_wish_for_an_upgrade_takes_no_body_away(server: ApiServer, framing: str, pieces: int) -> None:
    name = f"upgrade-{uuid.uuid4().hex}"  # unique for this run: another run may use the same server
    data = body(name)
    header = f"Content-Length: {len(data)}" if framing == "length" else "Transfer-Encoding: chunked"
    with Wire(server) as wire:
        sent = wire.head(f"POST {CONFIG_MAPS}", JSON, header, *UPGRADE)
        sent += data if framing == "length" else chunked(data)
        sent += wire.head(f"GET {NAMESPACE}", *UPGRADE) + wire.head("GET /version")
        size = -(-len(sent) // pieces)
        for start in range(0, len(sent), size):
            wire.send(sent[start : start + size])
        replies = [wire.reply() for _ in range(3)]
        assert [reply.status for reply in replies] == [201, 200, 200]
        assert json.loads(replies[0].body)["metadata"]["name"] == name


def test_an_unknown_method_has_its_answer_and_those_around_it_theirs(server: ApiServer) -> None:
    with Wire(server) as wire:
        known, unknown = wire.head(f"GET {NAMESPACE}"), wire.head(f"BREW {NAMESPACE}")
        data = body(f"before-brew-{uuid.uuid4().hex}")
        create = wire.head(f"POST {CONFIG_MAPS}", JSON, f"Content-Length: {len(data)}") + data
        wire.send(known + create + unknown + known)
        assert [wire.reply().status for _ in range(4)] == [200, 201, 405, 200]
        wire.send(unknown + known)
        assert [wire.reply().status for _ in range(2)] == [405, 200]


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_body_after_a_wish_for_an_upgrade_is_never_read_as_a_request(server: ApiServer, framing: str) -> None:
    """Two parsers would find different ends of the first request, so an unknown method after it is refused."""
    with Wire(server) as wire:
        hidden = wire.head(f"BREW {NAMESPACE}")
        header = f"Content-Length: {len(hidden)}" if framing == "length" else "Transfer-Encoding: chunked"
        sent = hidden if framing == "length" else b"%x\r\n%b\r\n0\r\n\r\n" % (len(hidden), hidden)
        wire.send(wire.head(f"POST {CONFIG_MAPS}", JSON, header, *UPGRADE) + sent + wire.head("STIR /version"))
        assert [wire.reply().status for _ in range(2)] == [400, 400]
        assert wire.is_closed()


def test_what_is_no_request_is_refused_after_the_answers_that_are_due(server: ApiServer) -> None:
    with Wire(server) as wire:
        wire.send(wire.head(f"GET {NAMESPACE}") * 3 + b"\x01\x02 nonsense\r\n\r\n")
        assert [wire.reply().status for _ in range(4)] == [200, 200, 200, 400]
        assert wire.is_closed()


def test_a_broken_body_is_refused_after_the_answers_that_are_due(server: ApiServer) -> None:
    with Wire(server) as wire:
        broken = wire.head(f"POST {CONFIG_MAPS}", JSON, "Transfer-Encoding: chunked") + b"zz\r\n"
        wire.send(wire.head(f"GET {NAMESPACE}") + broken)
        assert [wire.reply().status for _ in range(2)] == [200, 400]
        assert wire.is_closed()


def test_many_requests_in_a_row_hold_nobody(server: ApiServer) -> None:
    with held_at_most(server, 0.1), memory_returns(server):
        for method in ("GET", "BREW"):
            for _ in range(5):
                with Wire(server) as wire:
                    wire.send(wire.head(f"{method} /", token=False) * 5000)
                    answered = 0
                    while wire.reply().status in (403, 405):
                        answered += 1
                        if answered >= 2:
                            break
                    assert answered


def test_alternating_methods_hold_nobody(server: ApiServer) -> None:
    with held_at_most(server, 0.1), Wire(server) as wire:
        wire.send((wire.head("GET /", token=False) + wire.head("BREW /", token=False)) * 2000)
        assert wire.reply().status == 403


def test_a_chunked_body_is_data_for_the_most_part(server: ApiServer) -> None:
    with held_at_most(server, 0.1), memory_returns(server), Wire(server) as wire:
        wire.send(wire.head(f"POST {CONFIG_MAPS}", JSON, "Transfer-Encoding: chunked") + b"0\r\n")
        with pytest.raises(OSError):
            while True:
                wire.send(b"X: " + b"a" * 60_000 + b"\r\n")


@pytest.mark.parametrize("token", [True, False])
def test_a_body_that_is_too_large_is_not_read_to_its_end(server: ApiServer, token: bool) -> None:
    with held_at_most(server, 0.1), memory_returns(server), Wire(server) as wire:
        wire.send(wire.head(f"POST {CONFIG_MAPS}", JSON, "Transfer-Encoding: chunked", token=token))
        with pytest.raises(OSError):
            while True:
                wire.send(b"10000\r\n" + b" " * 65536 + b"\r\n")


def test_who_sends_too_much_still_reads_why(server: ApiServer) -> None:
    with Wire(server) as wire:
        wire.offer(wire.head(f"POST {CONFIG_MAPS}", JSON, "Content-Length: 5000000") + b" " * 5_000_000)
        reply = wire.reply()
        assert (reply.status, reply.headers["connection"]) == (413, "close")


@pytest.mark.parametrize("sent", ["[]", "5", '"x"', "true", "[{}]"])
@pytest.mark.parametrize("path", [f"{CONFIG_MAPS}/kept", CONFIG_MAPS])
def test_delete_options_are_an_object(server: ApiServer, path: str, sent: str) -> None:
    ask(server, "POST", CONFIG_MAPS, {"metadata": {"name": "kept"}})
    answer = ask(server, "DELETE", path, json.loads(sent))
    assert answer.status == 400
    assert "cannot unmarshal" in answer.json["message"] and "into Go value of type struct" in answer.json["message"]
    assert ask(server, "GET", f"{CONFIG_MAPS}/kept").status == 200


def test_nobody_is_taken_for_somebody_else(server: ApiServer) -> None:
    """An administrator may impersonate others, and then has only their rights. An incomplete impersonation is
    refused.
    """
    for headers, status in (
        ({"Impersonate-User": "alice"}, 403),
        ({"impersonate-user": "alice", "Impersonate-Group": "g"}, 403),
        ({"Impersonate-Group": "system:masters"}, 400),
        ({"Impersonate-Extra-scopes": "view"}, 400),
        ({"Impersonate-Uid": "7"}, 400),
        ({"Impersonate-User": ""}, 200),
    ):
        assert ask(server, "GET", NAMESPACE, headers=headers).status == status, headers
    refused = ask(server, "GET", NAMESPACE, headers={"Impersonate-User": "alice"})
    assert 'User "alice" cannot get resource "namespaces"' in refused.json["message"]


def test_a_path_writes_no_line_of_its_own_into_the_log(server: ApiServer) -> None:
    forged = "2026-01-01T00:00:00.000Z error gateway: FORGED"
    path = f"/api/v1/watch%0a{forged.replace(' ', '%20')}"
    for tried in (path, f"/livez/%0a{forged.replace(' ', '%20')}", f"{NAMESPACE}s/a%0a%1b[31m{forged[:3]}"):
        ask(server, "GET", tried)
    ask(server, "POST", f"{CONFIG_MAPS}/%0a{forged.replace(' ', '%20')}", {})
    assert not any(line.startswith(forged) for line in server.log_file.read_text().splitlines())


def test_names_of_types_are_not_remembered(server: ApiServer) -> None:
    """Some kinds exist in every group, also in groups that do not exist: their type names are not cached."""
    with memory_returns(server):
        for number in range(20):
            sent = {"kind": "Status", "apiVersion": f"{number:01000000d}/v1"}
            assert ask(server, "POST", CONFIG_MAPS, sent).status == 400
