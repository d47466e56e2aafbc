"""Waits until an object has a state that a test wants."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apiserver_gateway.testing.connections import Server
from apiserver_gateway.testing.requests import REQUEST_TIMEOUT, Refused, answer, ask

Holds = Callable[[Mapping[str, Any]], bool]

LONGEST_STATE = 1000  # the most characters of an object in a message


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate: whether an object has a condition with a status."""

    kind: str
    status: str

    def __call__(self, found: Mapping[str, Any]) -> bool:
        conditions = (found.get("status") or {}).get("conditions") or ()
        return any((each["type"], each["status"]) == (self.kind, self.status) for each in conditions)


def condition(kind: str, status: str = "True") -> Condition:
    """A predicate for a condition of an object: `wait_for(api, path, condition("Available"))`."""
    return Condition(kind, status)


def wait_for(server: Server, path: str, holds: Holds, timeout: float = REQUEST_TIMEOUT) -> dict[str, Any]:
    """Waits until `holds` is true for the object at `path`, and returns that state. The object need not exist yet.

    It watches, and does not poll. Raises Refused, and TimeoutError with the last seen state.
    """
    __tracebackhide__ = True
    collection, _, name = path.rpartition("/")
    deadline = time.monotonic() + timeout
    last: dict[str, Any] | None = None
    try:
        for kind, last in _states(server, collection, name, deadline):
            if kind == "DELETED":
                last = None
            elif holds(last):
                return last
    except TimeoutError:
        pass
    if isinstance(holds, Condition):
        missed = f"{path} did not get the condition {holds.kind}={holds.status}"
    else:
        missed = f"{path} did not become what was waited for"
    raise TimeoutError(f"{missed} in {timeout:g} s; {said(last)}") from None


def _states(server: Server, collection: str, name: str, deadline: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the present object as ADDED, and then its watch events: type and object. Raises TimeoutError."""
    from urllib.parse import urlencode

    __tracebackhide__ = True
    query = {"fieldSelector": f"metadata.name={name}"}
    listed = ask(server, "GET", f"{collection}?{urlencode(query)}")
    if "items" not in listed:
        raise ValueError(f"{collection}/{name} is not the path of an object, such as /api/v1/namespaces/default")
    yield from (("ADDED", each) for each in listed["items"])
    query |= {"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
    left = deadline - time.monotonic()
    query["timeoutSeconds"] = str(max(1, round(left)))
    with answer(server, "GET", f"{collection}?{urlencode(query)}", timeout=max(left, 0.001)) as events:
        for line in events:
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise Refused(
                    event["object"].get("code", 500), f"{collection}/{name}: {event['object'].get('message')}"
                )
            yield event["type"], event["object"]
            if time.monotonic() > deadline:
                return


def said(found: Mapping[str, Any] | None) -> str:
    """A line about the state of an object: its conditions, or its JSON if it has none."""
    if found is None:
        return "it does not exist"
    conditions = (found.get("status") or {}).get("conditions")
    if conditions:
        words = (
            f"{each.get('type')}={each.get('status')}" + (f" ({each['message']})" if each.get("message") else "")
            for each in conditions
        )
        return f"it has {', '.join(words)}"
    metadata = {key: value for key, value in (found.get("metadata") or {}).items() if key != "managedFields"}
    text = json.dumps({**found, "metadata": metadata})
    return f"it is {text if len(text) <= LONGEST_STATE else text[:LONGEST_STATE] + '...'}"
