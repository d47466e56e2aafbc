"""No input of a client makes compilation or evaluation take without bound."""

from __future__ import annotations

import asyncio
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.cel.environment import Environment
from gateway.cel.equality import equal
from gateway.cel.libraries.standard import add_lists
from gateway.cel.names import escape, unescape
from gateway.cel.program import InstantiationError, compile_expression
from gateway.cel.rules import compile_schema
from gateway.cel.source import CompilationError
from gateway.cel.types import INT, STRING, list_of
from gateway.cel.values import SetList
from gateway.jsontypes import JsonObject
from gateway.time_limits import TakesLong, at_once, in_thread
from tests.examples import examples
from tests.limits import at_most_cpu

DEEP = "expression recursion limit exceeded: 250"


@pytest.mark.parametrize(
    "text",
    ["(" * 300 + "1" + ")" * 300, "1" + "+1" * 300, "a" + ".b" * 300, "[" * 300 + "]" * 300, "1" + "<1" * 300],
    ids=["parentheses", "sums", "selections", "lists", "relations"],
)
def test_expressions_that_nest_too_deeply_are_refused(text: str) -> None:
    with pytest.raises(CompilationError, match=DEEP):
        compile_expression(text, Environment())


def test_expressions_that_are_too_long_are_refused() -> None:
    with pytest.raises(CompilationError, match="expression code point size exceeds limit: size: 100001, limit 100000"):
        compile_expression("1" * 100_001, Environment())


def test_a_long_text_that_is_no_expression_is_refused_soon() -> None:
    start = time.thread_time()
    with pytest.raises(CompilationError):
        compile_expression("a && " * 19_000 + ")", Environment())
    at_most_cpu(time.thread_time() - start, 3)


@pytest.mark.parametrize(
    "text", [")(" * 900, "(" * 1900, "#@$" * 600, "[{" * 900, '"' * 3000, "a.b[" * 400, "!-" * 900]
)
def test_texts_that_are_no_expressions_are_refused_whatever_they_open(text: str) -> None:
    with pytest.raises(CompilationError):
        compile_expression(text, Environment())


def test_macros_that_use_their_target_twice_cannot_make_it_grow_without_end() -> None:
    with pytest.raises(CompilationError, match=r"optMap\(\) nests too deeply"):
        compile_expression("optional.of(1)" + ".optMap(a, a)" * 40, Environment())


def test_an_evaluation_that_costs_too_much_is_given_up() -> None:
    program = compile_expression("x.all(a, x.all(b, x.all(c, a + b + c >= 0)))", _numbers())
    outcome = program.evaluate({"x": list(range(1000))})
    assert outcome.error == "operation cancelled: actual cost limit exceeded"
    assert 1_000_000 < outcome.cost < 1_000_100


def test_what_is_left_of_an_objects_budget_is_not_exceeded() -> None:
    rule = {"rule": "self.all(x, self.all(y, x + y >= 0))"}
    numbers = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [rule]}
    rules = compile_schema({"type": "object", "properties": {"a": numbers, "b": numbers}})
    assert rules is not None
    errors, _ = rules.validate({"a": [1] * 100, "b": [1] * 100}, budget=100_000)
    assert [each.field for each in errors] == ["b"]
    assert "running out of cost budget, no further validation rules will be run" in errors[0].body


def _numbers() -> Environment:
    return Environment({"x": list_of(INT)})


@given(st.text(alphabet="ab1.\"'()[]{}?:&|!<>=+-*/%, \n\\in`", max_size=40))
@settings(max_examples=examples(150), deadline=None)
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        program = compile_expression(text, Environment())
    except (CompilationError, InstantiationError) as error:
        assert str(error)
    else:
        program.evaluate({})


@given(st.text(alphabet="ab_.-/0", min_size=1, max_size=12))
def test_escaped_names_are_names_and_mean_the_property(name: str) -> None:
    written = escape(name)
    assert written is None or (written.isidentifier() and unescape(written) == name)


EXCEEDED = "operation cancelled: actual cost limit exceeded"
PAIRS = "[[1]]" + ".map(a, [a, a])" * 30
LONG = "x" * 100_000
GREEDY = {
    "lists that double": "[[1, 2, 3, 4]]" + ".map(a, a + a)" * 30 + ".size() > 0",
    "a text in place of each letter": "t.replace('x', t).size() > 0",
    "a text in place of nothing": "t.replace('', t).size() > 0",
    "a range": "lists.range(1000000000).size() > 0",
    "ranges": "lists.range(1000).all(i, lists.range(100000).size() > 0)",
    "pairs of pairs that are compared": f"{PAIRS} == {PAIRS}",
    "pairs of pairs that are looked for": f"{PAIRS} in [{PAIRS}]",
    "pairs of pairs that are written": f"'%s'.format([{PAIRS}]).size() > 0",
    "pairs of pairs that are made flat": f"{PAIRS}.flatten(40).size() > 0",
    "pairs of pairs whose index is asked for": f"[{PAIRS}].indexOf({PAIRS}) == 0",
    "pairs of pairs in maps": "[1]" + ".map(a, {'a': a, 'b': a})" * 30 + " == [1]" + ".map(a, {'a': a, 'b': a})" * 30,
    "many lists that are joined": "x.all(a, (x + x).size() > 0)",
    "what is different": "x.distinct().size() > 0",
    "pieces of texts": "x.all(a, t.split('').size() > 0)",
    "places of numbers": "(t + '%.1000f' + t).replace('x', '%.1000f').format([1.0]).size() > 0",
}


@pytest.mark.parametrize("text", GREEDY)
def test_what_an_evaluation_makes_is_measured_before_it_is_made(text: str) -> None:
    program = compile_expression(GREEDY[text], Environment({"x": list_of(INT), "t": STRING}))
    start = time.thread_time()
    tracemalloc.start()
    try:
        outcome = program.evaluate({"x": list(range(20_000)), "t": LONG})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome.error == EXCEEDED or text == "what is different"
    at_most_cpu(time.thread_time() - start, 5)
    assert peak < 100 << 20, f"{peak >> 20} MB were in use"  # counted: no chance is in it


def test_an_evaluation_ends_when_nobody_waits_for_it() -> None:
    program = compile_expression("x.all(a, x.all(b, a + b >= 0))", _numbers())

    async def evaluate() -> None:
        async with asyncio.timeout(0.05):
            await in_thread(lambda: program.evaluate({"x": list(range(100_000))}, 1 << 62))

    began = time.process_time()
    with pytest.raises(TimeoutError):
        asyncio.run(evaluate())  # waits for its threads
    at_most_cpu(time.process_time() - began, 1)


def test_sets_are_joined_and_compared_in_time_that_grows_with_them() -> None:
    one, other = SetList(range(100_000)), SetList(range(99_999, 199_999))
    began = time.thread_time()
    assert len(add_lists(one, other)) == 199_999 and not equal(one, other)
    at_most_cpu(time.thread_time() - began, 1)


@pytest.mark.parametrize("value", [[{}] * 200, {"a": {"b": []}}], ids=["lists", "maps"])
def test_a_comparison_looks_at_the_time_whatever_its_cost(value: object) -> None:
    def compare() -> None:
        for _ in range(1_000_000):
            assert equal(value, value)

    with pytest.raises(TakesLong):
        at_once(compare)


def test_rules_of_little_cost_leave_the_event_loop_when_they_take_long() -> None:
    """cel-go charges a comparison by the members of the outer map alone."""
    same = {"rule": "self.a == self.a"}
    inner = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"a": inner}, "x-kubernetes-validations": [same] * 100}
    value: JsonObject = {"a": {"x": [{"y": [{}] * 9}] * 5_000}}
    rules = compile_schema(schema)
    assert rules is not None
    assert rules.validate({"a": {}}, patience=100_000) == ([], [])
    with pytest.raises(TakesLong):
        at_once(rules.validate, value, patience=100_000)


_LONG_TEXT = "\x01" * 300_000
LONG_TEXTS = (
    "isURL(a)",
    "isIP(a)",
    "isSemver(a)",
    "duration(a) == duration('1s')",
    "double(a) == 1.0",
    "a.lowerAscii() == 'a'",
    "strings.quote(a) == 'a'",
    "'%s%s'.format([[a, a], [a, a]]) == 'a'",
)


@pytest.mark.parametrize("text", LONG_TEXTS)
def test_calls_that_read_long_texts_leave_the_event_loop(text: str) -> None:
    """They take up to 0.1 µs a character, and cannot be interrupted."""
    program = compile_expression(text, Environment({"a": STRING}))
    with pytest.raises(TakesLong):
        at_once(program.evaluate, {"a": _LONG_TEXT})
    assert at_once(program.evaluate, {"a": "x"}) == program.evaluate({"a": "x"})
    assert "cost limit" not in program.evaluate({"a": _LONG_TEXT}).error


@pytest.mark.parametrize("call", ["isURL(a)", "string(dyn(a)) == 'a'", "a.charAt(0) == 'a'"])
def test_texts_are_counted_where_a_call_costs_the_same_whatever_their_length(call: str) -> None:
    """cel-go charges 1 for isURL. A hundred calls of a million characters would take 5 s."""
    program = compile_expression(
        f"x.all(each, x.all(other, {call} || true))", Environment({"a": STRING, "x": list_of(INT)})
    )
    outcome = program.evaluate({"a": "/" * 1_000_000, "x": list(range(10))})
    assert outcome.error == "operation cancelled: actual cost limit exceeded"
    assert not program.evaluate({"a": "/" * 100_000, "x": list(range(10))}).error
