"""The private names of uvicorn's classes that the server uses exist: an update may change them."""

from __future__ import annotations

import ast
import inspect

import pytest

from gateway.http import cycle, protocol
from gateway.http.engine import HttpToolsProtocol, RequestResponseCycle

CYCLE = """
    __init__ body chunked_encoding default_headers disconnected expected_content_length flow keep_alive logger
    message_event more_body on_response
    receive response_complete response_started run_asgi scope send send_500_response transport waiting_for_100_continue
"""
PROTOCOL = """
    __init__ app connection_lost connection_made connections
    cycle
    data_received expect_100_continue flow headers logger loop on_body on_header on_headers_complete on_message_begin
    on_message_complete on_response_complete on_url parser pause_writing pipeline resume_writing scope
    server_state
    shutdown tasks timeout_keep_alive transport url
"""


def own(class_: type) -> ast.ClassDef:
    """A class as it is written."""
    found = ast.parse(inspect.getsource(class_)).body[0]
    assert isinstance(found, ast.ClassDef)
    return found


def of_self(class_: type) -> set[str]:
    """The attributes of `self` that a class names, and its methods."""
    tree = own(class_)
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    named = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "self"}
    return named | {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize(
    ("ours", "theirs", "names"),
    [(cycle.Cycle, RequestResponseCycle, CYCLE), (protocol.Protocol, HttpToolsProtocol, PROTOCOL)],
    ids=["cycle", "protocol"],
)
def test_what_is_built_on_is_there_and_nothing_else_is_used(ours: type, theirs: type, names: str) -> None:
    there = of_self(theirs)
    assert set(names.split()) == of_self(ours) & there
