"""What happened to objects, as it was recorded, and again: for load tests of informers and controllers.

api.recorder.start()
...
write_history("history.jsonl", history(api))
...
play(other, read_history("history.jsonl"), pace=10)
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apiserver_gateway.testing.requests import ask

if TYPE_CHECKING:
    from apiserver_gateway.testing.server import ApiServer

AT_ONCE = 200  # changes of one request


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an object: when, in seconds of any clock, and what as a watch would tell it.

    `resource` is its plural name, without a group; `object` its version, the last one of what is deleted.
    """

    at: float
    type: str
    resource: str
    object: dict[str, Any]


def history(server: ApiServer, since: int = 0) -> list[Change]:
    """The changes that the server's recorder has after an event of that number: its last 20 000 events at most.

    Of secrets they have the keys. Raises Refused where nothing was recorded.
    """
    last: dict[str, dict[str, Any]] = {}
    found = []
    for event in server.recorder.events(since):
        if event["what"] != "change":
            continue
        key, obj = event["key"], event.get("object") or last.get(event["key"]) or event.get("before")
        if obj is None:
            continue
        last[key] = obj
        resource = key.partition("/")[0].partition(".")[0]
        found.append(Change(event["at"], event["type"], resource, _blank(resource, obj)))
    return found


def _blank(resource: str, obj: dict[str, Any]) -> dict[str, Any]:
    """What the recorder says of a secret is no base64."""
    return {**obj, "data": dict.fromkeys(obj["data"], "")} if resource == "secrets" and obj.get("data") else obj


def write_history(path: str | Path, changes: Iterable[Change]) -> None:
    """Keeps changes in a file, a line of JSON each."""
    with Path(path).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(each)) + "\n" for each in changes)


def read_history(path: str | Path) -> list[Change]:
    """What `write_history` wrote. Raises OSError, and ValueError or TypeError for what is no history."""
    with Path(path).open(encoding="utf-8") as file:
        return [Change(**json.loads(line)) for line in file]


def play(server: ApiServer, changes: Sequence[Change], pace: float = 1.0) -> None:
    """Has the changes happen on a server, in their order: watches see them, with new resourceVersions.

    `pace` is how many times as fast as they were; with `math.inf` as fast as the server goes. They are written as they
    are: no webhook is asked and nothing is validated but types. Raises Refused.
    """
    for due in _due(changes, pace):
        told = [{"type": each.type, "resource": each.resource, "object": each.object} for each in due]
        ask(server, "POST", "/testing/changes", {"changes": told})


def _due(changes: Sequence[Change], pace: float) -> Iterator[Sequence[Change]]:
    """Those that it is time for, again and again."""
    if pace <= 0:
        raise ValueError(f"a pace is more than 0: {pace}")
    if not changes:
        return
    began, first, at = time.monotonic(), changes[0].at, 0
    while at < len(changes):
        time.sleep(max(0.0, (changes[at].at - first) / pace - (time.monotonic() - began)))
        now = first + (time.monotonic() - began) * pace
        end = at + 1
        while end < min(len(changes), at + AT_ONCE) and changes[end].at <= now:
            end += 1
        yield changes[at:end]
        at = end
