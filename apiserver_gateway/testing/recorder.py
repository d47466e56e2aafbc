"""The flight recorder of a server: its events as mappings, as text, and as a page that needs no server.

api.recorder.start()
...
print(api.recorder.story("configmaps/default/a"))
api.recorder.write("what-happened.html")
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from typing import Any

from apiserver_gateway.testing.connections import Server
from apiserver_gateway.testing.requests import answer, ask

PAGES = "/debug/recorder"
SWITCH = "/testing/recorder"
LONGEST_DIFF = 20  # the most lines of a difference in a text
MOST_CHANGES = 8  # the most events of an object in a text
MOST_OBJECTS = 5  # the most objects in a text
MOST_UNNAMED = 2  # the most objects in a text, if the failure names none

Event = Mapping[str, Any]


class Recorder:
    """The flight recorder of one server. It keeps at most 64 MiB of events, and drops the oldest first."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def start(self) -> int:
        """Starts recording; returns the number of the last event so far. Raises Refused."""
        return int(ask(self._server, "PUT", SWITCH)["last"])

    def stop(self) -> None:
        """Stops recording; the recorded events stay."""
        ask(self._server, "DELETE", SWITCH)

    def told(self, since: int = 0) -> Mapping[str, Any]:
        """A mapping: `events` has the events after number `since`, in order; `gone` has the reasons of deletions.

        `last` is the number of the last event.
        """
        found: Mapping[str, Any] = ask(self._server, "GET", f"{PAGES}/events?since={since}")
        return found

    def events(self, since: int = 0) -> list[Event]:
        """The events after number `since`, in order. `what` is "request" or "change"; `key` names the object, as in
        configmaps/default/a.
        """
        events: list[Event] = self.told(since)["events"]
        return events

    def why_gone(self, key: str) -> list[str]:
        """Sentences about the last deletion of an object: who deleted it, its finalizers and its owners. Empty if there
        is none.
        """
        told = self.told()
        reasons = {each["n"]: each["why"] for each in told["gone"]}
        gone = [reasons[each["n"]] for each in told["events"] if each["key"] == key and each["n"] in reasons]
        return list(gone[-1]) if gone else []

    def story(self, *keys: str, since: int = 0) -> str:
        """The last changes and refused requests of objects, as text."""
        told = self.told(since)
        return "\n".join(line for key in keys for line in _story(told, key))

    def story_of(self, text: str, since: int = 0) -> str:
        """The story of the objects that a text names. If it names none, of those that clients have changed last."""
        told = self.told(since)
        words = set(re.findall(r"[a-z0-9][-a-z0-9.]*[a-z0-9]|[a-z0-9]", text))
        keys = {each["key"]: None for each in told["events"] if each["what"] == "change"}
        named = [key for key in keys if key.rpartition("/")[2] in words and not _is_usual(key)]
        asked = {each["key"] for each in told["events"] if each["what"] == "change" and "by" in each}
        named = [key for key in named if key in asked] or named  # "view" may be a default role, or a word
        if not named:  # the objects that a client has changed last
            changed = [each for each in told["events"] if each["what"] == "change" and "by" in each]
            named = list(dict.fromkeys(each["key"] for each in changed))[-MOST_UNNAMED:]
        return "\n".join(line for key in named[-MOST_OBJECTS:] for line in _story(told, key))

    def write(self, path: str | Path, since: int = 0) -> Path:
        """Writes the page with its events to one file, which a browser shows without a server. Returns the path."""
        with answer(self._server, "GET", f"{PAGES}/page?since={since}") as page:
            Path(path).write_bytes(page.read())
        return Path(path)


def _is_usual(key: str) -> bool:
    """Whether an object exists in every cluster or namespace, so that its name in a text need not mean it."""
    return key.endswith(("/default", "/kube-system", "/kube-root-ca.crt"))


def _story(told: Mapping[str, Any], key: str) -> Iterator[str]:
    reasons = {each["n"]: each["why"] for each in told["gone"]}
    asked = {each["n"]: each for each in told["events"] if each["what"] == "request"}
    own = [
        each for each in told["events"] if each["key"] == key and (each["what"] == "change" or each["status"] >= 400)
    ]
    yield f"{key}: the last {len(own[-MOST_CHANGES:])} of {len(own)} events"
    before: Any = None
    for number, event in enumerate(own):
        after, previous = event.get("object"), before or event.get("before")
        if event["what"] == "change":
            before = after
        if number < len(own) - MOST_CHANGES:
            continue
        yield f"  {_clock(event['at'])} {_line(event, asked)}"
        yield from (f"    {line}" for line in _difference(previous, after) if event["what"] == "change")
        yield from (f"    {reason}" for reason in reasons.get(event["n"], ()))


def _line(event: Event, asked: Mapping[int, Event]) -> str:
    if event["what"] == "request":
        who = f"{event['user']} ({event['agent']})" if event["agent"] else event["user"]
        met = f" [fault: {', '.join(event['faults'])}]" if event.get("faults") else ""
        return f"{event['status']} {event['verb']} by {who}{met}: {event.get('message', '')}"
    request = asked.get(event.get("by", 0))
    how = f", {request['verb']} {request['path']}" if request else ""
    return f"{event['type']} at {event['revision']} by {event['writer']}{how}"


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S.%f")[:-3]


def _difference(before: Any, after: Any) -> Sequence[str]:
    """The lines of YAML in which two versions differ."""
    if before is None or after is None:
        return ()
    lines = list(unified_diff(_lines(before), _lines(after), lineterm="", n=0))[2:]
    shown = [line for line in lines if not line.startswith("@@")]
    return [*shown[:LONGEST_DIFF], *(["…"] if len(shown) > LONGEST_DIFF else [])]


def _lines(obj: Mapping[str, Any]) -> list[str]:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _UNTOLD}
    return _yaml(json.loads(json.dumps({**obj, "metadata": metadata}))).splitlines()


def _yaml(value: object) -> str:
    """YAML with multi-line texts as block scalars, so that a diff shows their changed lines."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, given: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", given, style="|" if "\n" in given else None)

    Dumper.add_representer(str, text)
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, width=1000))


_UNTOLD = ("managedFields", "resourceVersion")
