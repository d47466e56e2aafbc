"""Searches that may take long leave the event loop; those that take very long cost more than in cel-go."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.authorization_webhook import WebhookAuthorizer, WebhookSettings
from gateway.access.issuers.settings import IssuerSettings, Mapping
from gateway.access.issuers.tokens import IssuerTokens
from gateway.access.remote import Remote
from gateway.cel.environment import Environment
from gateway.cel.libraries import regex
from gateway.cel.libraries.strings import OVERLOADS
from gateway.cel.program import EvaluationResult, Program, compile_expression
from gateway.cel.types import STRING
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.release.gates import Gates
from gateway.time_limits import TakesLong, at_once, leave_loop, on_loop, soon_or_in_thread
from gateway.validation import effort
from gateway.validation.schema_values import compile_check
from tests.limits import at_most_cpu

HARD = "(ab|ba|a|b){1,500}c"
EXCEEDED = "operation cancelled: actual cost limit exceeded"


def program(text: str) -> Program:
    return compile_expression(text, Environment({"text": STRING, "part": STRING}))


def evaluated(expression: str, **variables: str) -> EvaluationResult:
    return program(expression).evaluate(variables)


def test_a_hard_pattern_costs_by_what_it_becomes() -> None:
    began = time.thread_time()
    assert evaluated(f"text.matches('{HARD}')", text="ab" * 400_000).error == EXCEEDED
    assert evaluated(f"text.find('{HARD}') == ''", text="ab" * 400_000).error == EXCEEDED
    at_most_cpu(time.thread_time() - began, 0.5)


def test_usual_patterns_cost_what_they_cost_in_cel_go() -> None:
    found = evaluated("text.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", text="a" * 400_000)
    assert (found.value, found.error, found.cost) == (True, "", 1 + 40_001 * 8)


def test_all_matches_are_searched_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each search of such a pattern goes to the end of the text: Go takes minutes for it."""
    monkeypatch.setattr(regex, "_MOST_READ", regex._MOST_READ // 20)
    began = time.thread_time()
    assert evaluated("text.findAll('a(a*c)?').size() > 1", text="a" * 300_000).error == EXCEEDED
    at_most_cpu(time.thread_time() - began, 1.0)  # 0.3 s on a busy machine; without the bound 6 s
    assert evaluated("text.findAll('a').size()", text="a" * 10_000).value == 10_000


@pytest.mark.parametrize(
    "expression", ["text.matches(part)", "text.find(part) == ''", "text.findAll(part).size() == 0"]
)
async def test_what_may_take_long_leaves_the_event_loop(expression: str) -> None:
    made, variables = program(expression), {"text": "ab" * 400, "part": HARD}
    with pytest.raises(TakesLong):
        at_once(lambda: made.evaluate(variables))
    assert not (await soon_or_in_thread(lambda: made.evaluate(variables))).error
    assert at_once(lambda: made.evaluate({**variables, "part": "c"})).value in (False, True)


def test_a_hard_pattern_of_a_schema_counts_by_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "MOST_EFFORT", 100_000)
    check = compile_check({"type": "string", "pattern": HARD})
    with pytest.raises(TakesLong):
        at_once(lambda: check("ab" * 400, "", None))
    (told,) = check("ab" * 4000, "", None)
    assert effort.TOLD in str(told)
    assert effort.TOLD not in str(compile_check({"type": "string", "pattern": "^(ab)*c$"})("ab" * 400_000, "", None))


@given(st.text("ab", max_size=30), st.text("ab", max_size=4), st.integers(0, 40) | st.none(), st.booleans())
def test_the_last_place_is_that_of_rfind(text: str, part: str, offset: int | None, long: bool) -> None:
    text, part = (text * 40_000, part * 40_000) if long else (text, part)
    call: Any = OVERLOADS["string_last_index_of_string" if offset is None else "string_last_index_of_string_int"]
    found = call(text, part) if offset is None else call(text, part, offset)
    if offset is None:
        assert found == -1 or (text.startswith(part, found) and text.find(part, found + 1) < 0)
        assert found >= 0 or part not in text
    elif part and offset < len(text):
        assert found == max((at for at in range(offset + 1) if text.startswith(part, at)), default=-1)


def test_the_last_place_takes_time_by_the_text_alone() -> None:
    began = time.thread_time()
    found = evaluated("text.lastIndexOf(part)", text="a" * 800_000, part="ab" + "a" * 400_000)
    assert (found.value, found.error) == (-1, "")
    at_most_cpu(time.thread_time() - began, 0.2)


class Slow:
    """A program that always takes long; it notes whether an event loop waited for it."""

    text = "slow"

    def __init__(self) -> None:
        self.held: list[bool] = []

    def evaluate(self, variables: JsonObject) -> EvaluationResult:
        leave_loop()
        self.held.append(on_loop())
        return EvaluationResult(True, "", 1)


class Service:
    """Allows everything."""

    async def ask(self, review: JsonObject) -> JsonObject:
        return {"status": {"allowed": True}}


async def test_conditions_of_authorizers_leave_the_event_loop() -> None:
    slow = Slow()
    settings = WebhookSettings(Path("none"), "v1", 1.0, 0.0, 0.0)
    authorizer = WebhookAuthorizer(cast(Remote, Service()), settings, [cast(Program, slow)])
    info = RequestInfo(is_resource=False, path="/x", verb="get")
    assert (await authorizer.authorize(Attributes(User("ada"), info))).allowed
    assert slow.held == [False]


async def test_expressions_about_claims_leave_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = IssuerTokens(IssuerSettings("https://issuer", ("a",), Mapping(claim="sub")), Gates("1.37").enabled)
    where: list[bool] = []

    async def claims(token: str) -> JsonObject:
        return {"iss": "https://issuer", "sub": "ada", "exp": 1 << 40}

    def user(claims: JsonObject) -> User:
        leave_loop()
        where.append(on_loop())
        return User("ada")

    monkeypatch.setattr(issuer, "_claims", claims)
    monkeypatch.setattr(issuer._mapper, "user", user)
    monkeypatch.setattr("gateway.access.issuers.tokens.untrusted_issuer", lambda token: "https://issuer")
    found = await issuer.authenticate("x", ())
    assert found is not None and found.user.name == "ada" and where == [False]
