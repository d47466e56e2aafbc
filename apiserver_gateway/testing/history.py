"""Reads recorded changes of objects and replays them on a server, for load tests of informers and controllers.

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

AT_ONCE = 200  # the most changes of one request


@dataclass(frozen=True, slots=True)
class ObservedChange:
    """A change of an object. `at` is its time in seconds, by any clock; `type` is the event type of a watch.

    `resource` is the plural name, without a group. `object` is the new version, or the last one for a deletion.
    """

    at: float
    type: str
    resource: str
    object: dict[str, Any]


def history(server: ApiServer, since: int = 0) -> list[ObservedChange]:
    """The changes in the server's recorder after event number `since`, out of its last 20 000 events.

    The values of Secrets are blank. Raises Refused if the server has no recorder.
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
        found.append(ObservedChange(event["at"], event["type"], resource, _blank(resource, obj)))
    return found


def _blank(resource: str, obj: dict[str, Any]) -> dict[str, Any]:
    """The object; the values of a Secret become "", since the recorder's placeholder is not valid base64."""
    return {**obj, "data": dict.fromkeys(obj["data"], "")} if resource == "secrets" and obj.get("data") else obj


def write_history(path: str | Path, changes: Iterable[ObservedChange]) -> None:
    """Writes changes to a file, each as a line of JSON."""
    with Path(path).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(each)) + "\n" for each in changes)


def read_history(path: str | Path) -> list[ObservedChange]:
    """Reads a file of `write_history`. Raises OSError, and ValueError or TypeError for an invalid file."""
    with Path(path).open(encoding="utf-8") as file:
        return [ObservedChange(**json.loads(line)) for line in file]


def play(server: ApiServer, changes: Sequence[ObservedChange], pace: float = 1.0) -> None:
    """Replays changes on a server, in their order. Watches see them, with new resourceVersions.

    `pace` is the speed: 2 is twice as fast as recorded, `math.inf` as fast as the server can. Objects are written
    unchanged: no webhook is called, and only types are validated. Raises Refused; ValueError for a pace that is not
    above 0.
    """
    for due in _due(changes, pace):
        told = [{"type": each.type, "resource": each.resource, "object": each.object} for each in due]
        ask(server, "POST", "/testing/changes", {"changes": told})


def _due(changes: Sequence[ObservedChange], pace: float) -> Iterator[Sequence[ObservedChange]]:
    """Yields the changes that are due, AT_ONCE at most, and sleeps between."""
    if pace <= 0:
        raise ValueError(f"pace must be more than 0, not {pace}")
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
