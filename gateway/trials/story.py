"""The recorder's events as JSON for pages and tests, with the reasons why objects were deleted.

`_request` and `_change` make the JSON of an event. The data of Secrets is blanked, also in the annotation where kubectl
keeps the last applied configuration.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, TypeGuard

import orjson

from gateway.http.time_slices import next_turn
from gateway.trials.recorder import Event, FlightRecorder, RecordedRequest, RecordedVersion
from storage.entry import ChangeType, Entry

MOST = 20_000  # the most events of one answer
PART = 100  # events between two turns of the event loop
_BLANK = "(blanked)"
_SECRETS = ("", "secrets")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_DELETES = frozenset({"delete", "deletecollection"})

Json = dict[str, Any]
Writers = dict[int, RecordedRequest | str]


async def story(recorder: FlightRecorder, since: int = 0, most: int = MOST) -> bytes:
    """JSON with the events after number `since`, `most` at most, and with the reasons of deletions."""
    events = recorder.since(since, most)
    written = _writers(recorder)
    told, first = list[Any](), set[bytes]()
    for start in range(0, len(events), PART):
        await next_turn()
        told += [_told(event, written, first) for event in events[start : start + PART]]
    gone = [each async for each in _gone(recorder, events, written)]
    return orjson.dumps({"last": recorder.number, "dropped": recorder.dropped, "events": told, "gone": gone})


def _writers(recorder: FlightRecorder) -> Writers:
    """The writer of each revision. An event may have been recorded before its writer knew the revision."""
    return {**{each.revision: each for each in recorder if isinstance(each, RecordedRequest)}, **recorder.writers}


def _request_of(changed: RecordedVersion, written: Writers) -> RecordedRequest | None:
    """The request that wrote a version, None if it is not known."""
    found = changed.request or written.get(changed.change.revision)
    return found if isinstance(found, RecordedRequest) else None


def _told(event: Event, written: Writers, first: set[bytes]) -> Json:
    if isinstance(event, RecordedRequest):
        return _request(event)
    return _change(event, written, first)


def _request(asked: RecordedRequest) -> Json:
    info = asked.info
    told: Json = {
        "n": asked.number,
        "at": asked.at,
        "what": "request",
        "user": asked.user,
        "agent": asked.agent,
        "verb": info.verb,
        "path": asked.path,
        "key": _key(info.group, info.resource, info.namespace, info.name),
        "status": asked.status,
        "ms": round(asked.seconds * 1000, 3),
    }
    if info.subresource:
        told["subresource"] = info.subresource
    if asked.words:
        told["message"] = _message(asked.words)
    if asked.revision:
        told["revision"] = asked.revision
    if asked.calls:
        told["webhooks"] = [
            {"name": name, "ms": round(seconds * 1000, 3), "code": code, "refused": refused}
            for name, seconds, code, refused in asked.calls
        ]
    if asked.faults:
        told["faults"] = list(asked.faults)
    if asked.deliveries is not None:
        told["watch"] = {
            "events": asked.events,
            "ended": asked.ended,
            "told": [list(each) for each in asked.deliveries],
        }
    return told


def _change(changed: RecordedVersion, written: Writers, first: set[bytes]) -> Json:
    change = changed.change
    namespace, name = _names(change.entry)
    told: Json = {
        "n": changed.number,
        "at": changed.at,
        "what": "change",
        "type": change.type.value.decode(),
        "key": _key(*changed.resource, namespace, name),
        "revision": change.revision,
        "writer": writer_of(changed, written),
    }
    request = _request_of(changed, written)
    if request is not None:
        told["by"] = request.number
    if change.key not in first and change.previous is not None:
        told["before"] = _shown(change.previous, changed.resource)
    first.add(change.key)
    if change.type is not ChangeType.DELETED:
        told["object"] = _shown(change.entry, changed.resource)
    return told


def writer_of(changed: RecordedVersion, written: Writers) -> str:
    """The writer of a version: a user with its user agent, or a controller. For a write of another server, the newest
    field manager.
    """
    request = _request_of(changed, written)
    if request is not None:
        return f"{request.user} ({request.agent})" if request.agent else request.user
    actor = changed.actor or written.get(changed.change.revision)
    if isinstance(actor, str) and actor:
        return actor
    managers = (changed.change.entry.parsed().get("metadata") or {}).get("managedFields") or ()
    newest = max(managers, key=lambda each: each.get("time") or "", default=None)
    return "another server" if newest is None else f"field manager {newest.get('manager', '')}"


def _key(group: str, resource: str, namespace: str, name: str) -> str:
    """The name of an object on the page: configmaps/default/a, deployments.apps/default/web."""
    if resource == "namespaces" and not group:
        namespace = ""
    qualified = f"{resource}.{group}" if group else resource
    return "/".join(part for part in (qualified, namespace, name) if part)


def _names(entry: Entry) -> tuple[str, str]:
    meta = _parsed(entry).get("metadata") or {}
    return meta.get("namespace", ""), meta.get("name", "")


def _parsed(entry: Entry) -> Json:
    return entry.parsed()


def _shown(entry: Entry, resource: tuple[str, str]) -> Any:
    """An object as JSON; the values of a Secret are blanked."""
    annotations = (_parsed(entry).get("metadata") or {}).get("annotations") or {}
    if resource != _SECRETS:
        return orjson.Fragment(entry.head + entry.tail)
    obj = {**_parsed(entry)}
    for member in ("data", "stringData"):
        if isinstance(obj.get(member), dict):
            obj[member] = dict.fromkeys(obj[member], _BLANK)
    if _APPLIED in annotations:
        obj["metadata"] = {**obj["metadata"], "annotations": {**annotations, _APPLIED: _BLANK}}
    return obj


def _message(words: bytes) -> str:
    """The message of an error answer, cut to 500 characters."""
    try:
        found = orjson.loads(words)
    except ValueError:
        return words.decode("utf-8", "replace")[:500]
    return str(found.get("message", ""))[:500] if isinstance(found, dict) else ""


async def _gone(recorder: FlightRecorder, events: Sequence[Event], written: Writers) -> AsyncIterator[Json]:
    """The reasons of the deletions in some events."""
    ends = [event for event in events if _is_end(event)]
    if not ends:
        return
    keys = {event.change.key for event in ends}
    histories: dict[tuple[bytes, str], list[RecordedVersion]] = {}
    uids: dict[str, RecordedVersion] = {}
    for count, event in enumerate(list(recorder)):
        if not count % PART:
            await next_turn()
        if isinstance(event, RecordedVersion) and (event.change.key in keys or _is_end(event)):
            uid = _uid(event.change.entry)
            histories.setdefault((event.change.key, uid), []).append(event)
            if _is_end(event):
                uids[uid] = event
    for count, end in enumerate(ends):
        if not count % PART:
            await next_turn()
        history = histories.get((end.change.key, _uid(end.change.entry)), ())  # () if it was dropped meanwhile
        yield {"n": end.number, "why": list(_why(end, history, uids, written))}


def _is_end(event: Event) -> TypeGuard[RecordedVersion]:
    return isinstance(event, RecordedVersion) and event.change.type is ChangeType.DELETED


def _why(
    end: RecordedVersion, history: Iterable[RecordedVersion], uids: dict[str, RecordedVersion], written: Writers
) -> Iterator[str]:
    """Lines about a deletion: who deleted the object, for which finalizers it waited, and what became of its owners.

    `history` has the recorded versions of the object with the same uid.
    """
    before = (each for each in history if each.number < end.number)
    mark = next((each for each in before if _meta(each).get("deletionTimestamp")), None)
    if mark is not None:
        yield f"deleted by {_by(mark, written)} at revision {mark.change.revision}"
        waited = _meta(mark).get("finalizers") or ()
        if waited:
            yield f"waited for its finalizers: {', '.join(waited)}"
        yield f"the last of what it waited for was removed by {_by(end, written)}"
    else:
        yield f"deleted by {_by(end, written)}"
    for owner in _meta(end).get("ownerReferences") or ():
        named = f"{owner.get('kind')} {owner.get('name')}"
        gone = uids.get(owner.get("uid", ""))
        if gone is not None:
            yield f"its owner {named} was deleted at revision {gone.change.revision} by {_by(gone, written)}"
        else:
            yield f"its owner is {named}, whose end was not recorded"


def _by(changed: RecordedVersion, written: Writers) -> str:
    """The writer of a change, and its request."""
    request = _request_of(changed, written)
    how = "" if request is None else f" ({request.info.verb} {request.path})"
    return f"{writer_of(changed, written)}{how}"


def _uid(entry: Entry) -> str:
    return str((_parsed(entry).get("metadata") or {}).get("uid", ""))


def _meta(changed: RecordedVersion) -> Json:
    found: Json = _parsed(changed.change.entry).get("metadata") or {}
    return found
