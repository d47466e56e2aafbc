"""Names and other texts of megabytes: one match of a pattern keeps all other threads waiting."""

from __future__ import annotations

import time
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.cel.parser import parse
from gateway.cel.source import CompilationError
from gateway.validation import names
from gateway.validation.schema_formats import format_check
from tests.hostile.probe import held_at_most
from tests.integration.server.client import ask
from tests.limits import at_most_cpu

CORE = "/api/v1/namespaces/default"
LENGTH = 2_900_000
LONG = "www." * 700_000 + "a"
CONTAINER = {"name": "c", "image": "i"}
OBJECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a name": (f"{CORE}/configmaps", {"metadata": {"name": LONG}}),
    "a label's key": (f"{CORE}/configmaps", {"metadata": {"name": "a", "labels": {f"{LONG}/b": "c"}}}),
    "a finalizer": (f"{CORE}/configmaps", {"metadata": {"name": "a", "finalizers": [f"{LONG}/b"]}}),
    "a container's name": (
        f"{CORE}/pods",
        {"metadata": {"name": "a"}, "spec": {"containers": [{**CONTAINER, "name": LONG}]}},
    ),
}


@pytest.mark.parametrize("what", OBJECTS)
def test_a_long_name_holds_nobody(server: ApiServer, what: str) -> None:
    path, obj = OBJECTS[what]
    with held_at_most(server, 0.1):
        answer = ask(server, "POST", f"{path}?dryRun=All", obj)
    assert answer.status == 422, answer.body[:300]


@pytest.mark.parametrize("size", [1, 5000])
@pytest.mark.parametrize(
    "check", [names.is_dns1123_subdomain, names.is_dns1123_subdomain_caseless, names.is_wildcard_dns1123_subdomain]
)
def test_a_long_name_is_matched_as_a_short_one(check: Any, size: int) -> None:
    """Only the message about the length differs."""
    start = "*." if check is names.is_wildcard_dns1123_subdomain else ""
    wrong = {tail for tail in ("", ".", "..b", "-", "-.b", "b\n", ".é", "_") if len(_rest(check, start, size, tail))}
    assert wrong == {".", "..b", "-", "-.b", "b\n", ".é", "_"}


def _rest(check: Any, start: str, size: int, tail: str) -> list[str]:
    return [each for each in check(f"{start}{'a.' * size}a{tail}") if "no more than" not in each]


@pytest.mark.parametrize("literal", ["{}", "-{}", "{}u", "0x{}", "1 + {}"])
def test_a_long_literal_of_an_expression_is_out_of_range(literal: str) -> None:
    with pytest.raises(CompilationError, match=r"invalid u?int literal"):
        parse(literal.format("1" * 5000))


@pytest.mark.parametrize("piece", ["1e", "1 ", "1", " 1"])
def test_a_long_text_is_soon_no_duration(piece: str) -> None:
    check = format_check("duration")
    assert check is not None
    began = time.thread_time()
    assert not check(piece * (LENGTH // len(piece)))
    at_most_cpu(time.thread_time() - began, 2)


@pytest.mark.parametrize("address", ["10.0.0.0", "::1"])
def test_a_long_size_of_a_network_is_none(address: str) -> None:
    """Python refuses to read an integer of more than 4 300 digits."""
    check = format_check("cidr")
    assert check is not None
    assert not check(f"{address}/{'1' * 5000}") and check(f"{address}/{'0' * 5000}8") and check(f"{address}/0")
