"""The flight recorder of a server: what happened, as events, as text and as a page that needs nobody.

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
LONGEST_DIFF = 20  # lines of a version that a text has
MOST_CHANGES = 8  # of an object that a text has
MOST_OBJECTS = 5
MOST_UNNAMED = 2

Event = Mapping[str, Any]


class Recorder:
    """The flight recorder of one server. It keeps 64 MiB of events at the most, and drops the oldest first."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def start(self) -> int:
        """Starts recording; returns the number of the last event before. Raises Refused."""
        return int(ask(self._server, "PUT", SWITCH)["last"])

    def stop(self) -> None:
        """Stops recording; what was recorded stays."""
        ask(self._server, "DELETE", SWITCH)

    def told(self, since: int = 0) -> Mapping[str, Any]:
        """`events` after that of a number, in order; `gone`: why objects are; `last`, the last number."""
        found: Mapping[str, Any] = ask(self._server, "GET", f"{PAGES}/events?since={since}")
        return found

    def events(self, since: int = 0) -> list[Event]:
        """Requests and changes of objects, in order. `what` says which, `key` of what: configmaps/default/a."""
        events: list[Event] = self.told(since)["events"]
        return events

    def why_gone(self, key: str) -> list[str]:
        """Why an object is gone, in sentences: who deleted it, what it waited for, which owner it followed."""
        told = self.told()
        reasons = {each["n"]: each["why"] for each in told["gone"]}
        gone = [reasons[each["n"]] for each in told["events"] if each["key"] == key and each["n"] in reasons]
        return list(gone[-1]) if gone else []

    def story(self, *keys: str, since: int = 0) -> str:
        """The last changes of objects and what was refused of them, as text."""
        told = self.told(since)
        return "\n".join(line for key in keys for line in _story(told, key))

    def story_of(self, text: str, since: int = 0) -> str:
        """The story of the objects that a text names; if it names none, of those that clients changed last."""
        told = self.told(since)
        words = set(re.findall(r"[a-z0-9][-a-z0-9.]*[a-z0-9]|[a-z0-9]", text))
        keys = {each["key"]: None for each in told["events"] if each["what"] == "change"}
        named = [key for key in keys if key.rpartition("/")[2] in words and not _is_usual(key)]
        asked = {each["key"] for each in told["events"] if each["what"] == "change" and "by" in each}
        named = [key for key in named if key in asked] or named  # words like "view" are roles, which nobody has touched
        if not named:  # those that a client changed last
            changed = [each for each in told["events"] if each["what"] == "change" and "by" in each]
            named = list(dict.fromkeys(each["key"] for each in changed))[-MOST_UNNAMED:]
        return "\n".join(line for key in named[-MOST_OBJECTS:] for line in _story(told, key))

    def write(self, path: str | Path, since: int = 0) -> Path:
        """Writes the page: all of it in one file, which any browser shows without a network."""
        with answer(self._server, "GET", f"{PAGES}/page?since={since}") as page:
            Path(path).write_bytes(page.read())
        return Path(path)


def _is_usual(key: str) -> bool:
    """Whether an object is one that every namespace has: its name is too common a word."""
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
    """YAML in which a text of several lines is one of several lines, so that its difference is that of these."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, given: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", given, style="|" if "\n" in given else None)

    Dumper.add_representer(str, text)
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, width=1000))


_UNTOLD = ("managedFields", "resourceVersion")
