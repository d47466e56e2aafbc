"""Faults: a test asks for errors and delays. A fault has patterns of requests and a number of times."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from random import Random
from typing import Any
from uuid import uuid4
from weakref import WeakSet

from gateway.http.request_info import RequestInfo
from gateway.http.status import bad_request
from gateway.http.user import User
from gateway.reading.watch_stream import WatchStream
from gateway.requests.context import Outcome, RequestContext, Stage
from gateway.requests.interposed_stages import Interposed, agent_of
from gateway.trials.answers import ANSWERS, LONGEST, InjectedAnswer, made
from gateway.trials.chaos import chaos
from gateway.trials.patterns import FIELDS, Concern, Patterns, check_words, concern_of
from gateway.trials.watch_faults import Steering

MOST_FAULTS = 1000
LONGEST_TEXT = 65_536
_KNOWN = {*FIELDS, "answer", "times", "probability", "seed", "webhook"}
_MAKERS = {**ANSWERS, "chaos": chaos}


class UnknownFault(KeyError):
    """There is no fault with that id, or it was removed."""


@dataclass(slots=True, eq=False)
class FaultRule:
    """One fault. `asked` is its text by the test, `left` how often it may still apply, `hits` how often it has applied:
    to requests, or to watches.
    """

    id: str
    asked: Mapping[str, Any]
    concern: Concern
    answer: InjectedAnswer
    webhook: Patterns | None
    left: float
    probability: float
    draw: Random
    hits: int = 0
    steered: WeakSet[Steering] = field(default_factory=WeakSet)

    def concerns(self, user: User, info: RequestInfo, agent: str) -> bool:
        """Whether the fault concerns a request, and may still apply."""
        return self.left > 0 and self.concern.includes(user, info, agent)

    def meets(self) -> bool:
        """Whether the fault applies to a request that it concerns. If so, counts the request."""
        if self.left <= 0 or (self.probability < 1 and self.draw.random() >= self.probability):
            return False
        self.left -= 1
        self.hits += 1
        return True

    def picked(self, context: RequestContext | None, info: RequestInfo) -> InjectedAnswer | None:
        """The answer for a request that the fault concerns; None if it does not apply to this request."""
        if self.answer.pick is None:
            return self.answer if self.meets() else None
        if self.left <= 0:
            return None
        about = (
            f"{info.verb} {info.group} {info.resource} {info.subresource} {info.name}"  # namespaces of tests are random
        )
        found = self.answer.pick(context, about)
        return found if found is not None and self.meets() else None


class FaultTable:
    """The faults of a server. Their stages are inserted while there is a fault."""

    def __init__(self, interposed: Interposed, plurals: Callable[[], Mapping[str, str]]) -> None:
        """`plurals` returns the plural names of the served resources by their singular names."""
        self._interposed, self._plurals = interposed, plurals
        self._faults: dict[str, FaultRule] = {}
        interposed.listen(self._opened)
        self._stages = (
            ("authorization", Stage("faults", self._meet)),
            ("negotiation", Stage("faults-instead", _instead)),
            ("visibility", Stage("faults-afterwards", _afterwards, again=True)),
        )

    # the calls of the testing API

    def add(self, asked: Any) -> FaultRule:
        """Adds a fault. It applies from now on, also to open watches. Raises StatusError 400."""
        if len(self._faults) >= MOST_FAULTS:
            raise bad_request(f"there are {MOST_FAULTS} faults already; remove some")
        fault = fault_of(asked)
        check_words(asked, self._plurals())
        self._faults[fault.id] = fault
        if len(self._faults) == 1:
            self._interposed.put("faults", self._stages)
        if fault.answer.watch is not None:
            for stream, watcher in list(self._interposed.watches.items()):
                if not stream.over and fault.concerns(*watcher) and fault.meets():
                    _steer(fault, fault.answer, stream)
        return fault

    def remove(self, name: str) -> FaultRule:
        """Removes a fault; the watches that it disturbs go on normally. Raises UnknownFault."""
        fault = self._faults.pop(name, None)
        if fault is None:
            raise UnknownFault(name)
        for steering in list(fault.steered):
            steering.end()
        if not self._faults:
            self._interposed.put("faults", ())
        return fault

    def clear(self) -> None:
        """Removes all faults."""
        for name in list(self._faults):
            self.remove(name)

    def get(self, name: str) -> FaultRule:
        """A fault by its id. Raises UnknownFault."""
        if name not in self._faults:
            raise UnknownFault(name)
        return self._faults[name]

    def all(self) -> Iterable[FaultRule]:
        """All faults, the oldest first."""
        return self._faults.values()

    # the stages of requests

    def _opened(self, context: RequestContext, stream: WatchStream) -> None:
        watcher = self._interposed.watches[stream]
        for fault in self._faults.values():
            if fault.answer.watch is not None and fault.concerns(*watcher) and fault.meets():
                _steer(fault, fault.answer, stream)
                return
        for met in context.faults:
            if isinstance(met, _Met) and met.answer.watch is not None:
                _steer(met.fault, met.answer, stream)
                return

    def _meet(self, context: RequestContext) -> Outcome:
        user, info, agent = context.attributes.user, context.request.info, agent_of(context)
        met: list[_Met] = []
        for fault in self._faults.values():
            answer = fault.answer
            if answer.webhook:
                if fault.concern.includes(user, info, agent):
                    context.spoil = self._spoiling(context, user, info, agent)
                continue
            if not fault.concerns(user, info, agent):
                continue
            if answer.watch is not None and info.verb == "watch":  # `_opened` handles it
                continue
            if answer.watch is not None and answer.before is None:
                continue
            if answer.concerns is not None and not answer.concerns(context):
                continue
            picked = fault.picked(context, info)
            if picked is not None:
                met.append(_Met(fault, picked))
        if not met:
            return None
        context.faults = met
        return _before(context, met)

    def _spoiling(self, context: RequestContext, user: User, info: RequestInfo, agent: str) -> Any:
        async def spoil(webhook: str) -> str:
            for fault in list(self._faults.values()):
                if not fault.answer.webhook or not fault.concerns(user, info, agent):
                    continue
                if (fault.webhook is None or fault.webhook.fit(webhook)) and fault.meets():
                    return fault.answer.webhook
            return ""

        return spoil


@dataclass(frozen=True, slots=True)
class _Met:
    """A fault that applies to a request, and its answer."""

    fault: FaultRule
    answer: InjectedAnswer

    def __str__(self) -> str:
        return self.answer.name

    def instead(self, context: RequestContext) -> Outcome:
        return None if self.answer.instead is None else self.answer.instead(context)

    def afterwards(self, context: RequestContext) -> Outcome:
        return None if self.answer.afterwards is None else self.answer.afterwards(context)


async def _before(context: RequestContext, met: Iterable[_Met]) -> None:
    """Waits for the sum of all delays, then gives the first answer that replaces the request."""
    delay = sum(each.answer.delay for each in met)
    if delay:
        await asyncio.sleep(delay)
    for each in met:
        outcome = None if each.answer.before is None else each.answer.before(context)
        if isinstance(outcome, Awaitable):
            await outcome


def _instead(context: RequestContext) -> Outcome:
    for met in context.faults:
        outcome = met.instead(context)
        if outcome is not None:
            return outcome
    return None


def _afterwards(context: RequestContext) -> Outcome:
    for met in context.faults:
        outcome = met.afterwards(context)
        if outcome is not None:
            return outcome
    return None


def _steer(fault: FaultRule, answer: InjectedAnswer, stream: WatchStream) -> None:
    assert answer.watch is not None
    steering = Steering(stream, answer.watch)
    fault.steered.add(steering)
    steering.begin()


def fault_of(asked: Any) -> FaultRule:
    """Reads a fault from the JSON of a test. Raises StatusError 400."""
    if not isinstance(asked, Mapping) or "answer" not in asked:
        raise bad_request('say what goes wrong: {"verb": "update", "resource": "configmaps", "answer": "conflict"}')
    if unknown := sorted(set(map(str, asked)) - _KNOWN):
        raise bad_request(f"a fault has no {', '.join(unknown)[:200]}; it has {', '.join(sorted(_KNOWN))}")
    times, probability = asked.get("times"), asked.get("probability")
    if times is not None and (not isinstance(times, int) or isinstance(times, bool) or times < 1):
        raise bad_request(f"times of a fault is a count from 1 on, not {times!r:.100}")
    if probability is not None and not (isinstance(probability, int | float) and 0 <= probability <= 1):
        raise bad_request(f"probability of a fault is from 0 to 1, not {probability!r:.100}")
    webhook = concern_of({"name": asked["webhook"]}).fields.get("name") if asked.get("webhook") else None
    return FaultRule(
        id=uuid4().hex,
        asked=dict(asked),
        concern=concern_of(asked),
        answer=_answer(asked["answer"]),
        webhook=webhook,
        left=inf if times is None else times,
        probability=1.0 if probability is None else float(probability),
        draw=Random(str(asked.get("seed", 0))),
    )


def _answer(said: Any) -> InjectedAnswer:
    """Reads an answer: its name, or a mapping of its name to its parameters. Raises StatusError 400."""
    name, given = said, None
    if isinstance(said, Mapping) and len(said) == 1:
        name, given = next(iter(said.items()))
    maker = _MAKERS.get(name) if isinstance(name, str) else None
    if maker is None:
        raise bad_request(f"there is no answer {name!r:.100}; there are {', '.join(sorted(_MAKERS))}")
    given = given or {}
    parameters = inspect.signature(maker).parameters
    if not isinstance(given, Mapping) or not set(given) <= set(parameters):
        raise bad_request(f"{name} takes {', '.join(parameters) or 'nothing'}, not {given!r:.200}")
    for each, parameter in parameters.items():
        if each in given:
            _check(f"{name}: {each}", given[each], str(parameter.annotation))
        elif parameter.default is inspect.Parameter.empty:
            raise bad_request(f"{name} needs {each}")
    return maker(**given) if name == chaos.__name__ else made(name, **given)


def _check(what: str, value: Any, kind: str) -> None:
    """Raises StatusError 400 for a parameter of a wrong type, or outside of its limits."""
    if kind == "str":
        if not isinstance(value, str) or len(value) > LONGEST_TEXT:
            raise bad_request(f"{what} is a text of {LONGEST_TEXT} characters at most")
    elif isinstance(value, bool) or not isinstance(value, int if kind == "int" else int | float):
        raise bad_request(f"{what} is a number, not {value!r:.100}")
    elif kind == "float" and not (isfinite(value) and 0 <= value <= LONGEST):
        raise bad_request(f"{what} is from 0 to {LONGEST:g} seconds, not {value!r:.100}")
    elif kind == "int" and not (0 <= value < 1 << 31):
        raise bad_request(f"{what} is from 0 to {(1 << 31) - 1}, not {str(value)[:100]}")
