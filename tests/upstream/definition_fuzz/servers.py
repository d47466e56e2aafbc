"""Sends the same requests to two servers, and computes at which levels the answers agree."""

from __future__ import annotations

import copy
import http.client
import itertools
import json
import re
import ssl
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .facts import Json

LEVELS = ("status", "causes", "body", "wording")
VERSION = "@VERSION@"  # in a request: stands for the resourceVersion of its object on the server
CONTENT = {"plain": "json", "merge": "merge-patch+json", "json": "json-patch+json", "apply": "apply-patch+yaml"}
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "lastTransitionTime", "time", "deletionTimestamp")
_NOISE = re.compile(r"selfType\d+|0xc[0-9a-f]+")


@dataclass(slots=True, frozen=True)
class Answer:
    """A server's answer."""

    status: int
    content_type: str
    warnings: tuple[str, ...]
    body: Any


@dataclass(slots=True)
class Request:
    """A request for both servers."""

    method: str
    path: str
    body: Any = None
    content: str = "plain"
    about: str = ""
    of: str = ""  # the path of the object whose resourceVersion replaces VERSION


class Side:
    """One of the servers; each thread has a connection."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._token = parts.hostname or "", parts.port, token
        self._context = ssl._create_unverified_context()
        self._local = threading.local()
        self.versions = dict[str, str]()  # path of an object -> its resourceVersion

    def ask(self, request: Request) -> Answer:
        """Sends the request. Returns the answer without values that always differ between servers."""
        text = None if request.body is None else json.dumps(request.body)
        if text is not None and request.of:
            text = text.replace(VERSION, self.versions.get(request.of, "1"))
        content = f"application/{CONTENT[request.content]}"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content}
        for attempt in (1, 2):
            try:
                connection = self._connection()
                connection.request(request.method, request.path, text, headers)
                response = connection.getresponse()
                return self._answer(response, response.read())
            except (OSError, http.client.HTTPException) as error:
                self._local.connection = None
                if attempt == 2:
                    return Answer(0, "", (), f"{type(error).__name__}: {error}")
        raise AssertionError("unreachable")

    def _connection(self) -> http.client.HTTPSConnection:
        if getattr(self._local, "connection", None) is None:
            self._local.connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=60, context=self._context
            )
        made: http.client.HTTPSConnection = self._local.connection
        return made

    def _answer(self, response: http.client.HTTPResponse, data: bytes) -> Answer:
        try:
            body = json.loads(data)
        except ValueError:
            body = data.decode("utf-8", "replace")
        warnings = tuple(response.headers.get_all("Warning") or ())
        return Answer(response.status, response.headers.get("Content-Type", ""), warnings, _even(body))

    def remember(self, path: str) -> Any:
        """Reads the object at a path, and remembers its resourceVersion."""
        connection = self._connection()
        connection.request("GET", path, None, {"Authorization": f"Bearer {self._token}"})
        body = json.loads(connection.getresponse().read())
        self.versions[path] = body.get("metadata", {}).get("resourceVersion", "1")
        return body


def _even(node: Any) -> Any:
    """A document without the values that every server chooses itself."""
    match node:
        case dict():
            made = {key: "<chosen>" if key in _VOLATILE and value else _even(value) for key, value in node.items()}
            if isinstance(entries := made.get("managedFields"), list):
                made["managedFields"] = sorted(entries, key=lambda entry: json.dumps(entry, sort_keys=True))
            return made
        case list():
            return [_even(item) for item in node]
        case str():
            return _NOISE.sub("<chosen>", node)
    return node


def same(one: Any, other: Any) -> bool:
    """Whether two documents are equal; 1 is neither 1.0 nor true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _is_status(answer: Answer) -> bool:
    return isinstance(answer.body, dict) and answer.body.get("kind") == "Status"


def _causes(answer: Answer) -> list[Json]:
    if not _is_status(answer):
        return []
    return (answer.body.get("details") or {}).get("causes") or []


def _words(text: str) -> list[str]:
    """The words of a message, sorted if they come from a Go map, which has no order."""
    return sorted(re.findall(r"[^\s,\[\]{}]+", text))


def _levels(answer: Answer) -> tuple[Any, ...]:
    reason = answer.body.get("reason") if _is_status(answer) else None
    causes = _causes(answer)
    fields = sorted({(cause.get("reason", ""), cause.get("field", "")) for cause in causes})
    if _is_status(answer):
        body = copy.deepcopy(answer.body)
        body.pop("message", None)
        (body.get("details") or {}).pop("causes", None)
    else:
        body = answer.body
    told = sorted(json.dumps(cause, sort_keys=True) for cause in causes)
    message = answer.body.get("message", "") if _is_status(answer) else ""
    wording = [sorted(_words(each) for each in told), _words(message), sorted(answer.warnings)]
    return [answer.status, reason, answer.content_type], fields, body, wording


def agreement(peer: Answer, ours: Answer) -> int:
    """The number of LEVELS at which two answers agree."""
    if peer.status == 500 and 400 <= ours.status < 500:
        return len(LEVELS)
    pairs = zip(_levels(peer), _levels(ours), strict=True)
    return len(list(itertools.takewhile(lambda pair: same(*pair), pairs)))


@dataclass(slots=True)
class Result:
    """One case with both answers."""

    name: str
    request: Request
    peer: Answer
    ours: Answer
    level: int = field(init=False)

    def __post_init__(self) -> None:
        self.level = agreement(self.peer, self.ours)

    def differences(self) -> list[str]:
        """Descriptions of the differences. Cases with the same cause have the same description."""
        one, other = _levels(self.peer), _levels(self.ours)
        if self.level == 0:
            said = [f"{answer.status} {_message(answer)}" for answer in (self.peer, self.ours)]
            return [f"status: {rough(said[0])[:160]} -> {rough(said[1])[:160]}"]
        if self.level == 1:
            missing = [f"missing {reason} {rough(path)}" for reason, path in one[1] if (reason, path) not in other[1]]
            extra = [f"extra {reason} {rough(path)}" for reason, path in other[1] if (reason, path) not in one[1]]
            return [f"causes: {line}" for line in missing + extra]
        if self.level == 2:
            return [f"body {rough(path)}: {a} -> {b}" for path, a, b in unequal(one[2], other[2])][:3]
        told = {cause.get("field"): cause.get("message", "") for cause in _causes(self.ours)}
        lines = [
            f"wording: {rough(cause.get('message', ''))[:150]} -> {rough(told.get(cause.get('field'), ''))[:150]}"
            for cause in _causes(self.peer)
            if _words(cause.get("message", "")) != _words(told.get(cause.get("field"), ""))
        ]
        if sorted(self.peer.warnings) != sorted(self.ours.warnings):
            lines.append(f"warnings: {rough(str(self.peer.warnings))[:150]} -> {rough(str(self.ours.warnings))[:150]}")
        return lines or [f"wording: {rough(_message(self.peer))[:200]} -> {rough(_message(self.ours))[:200]}"]


def _message(answer: Answer) -> str:
    return str(answer.body.get("message", "")) if _is_status(answer) else ""


def unequal(one: Any, other: Any, path: str = "") -> list[tuple[str, str, str]]:
    """The paths at which two documents differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for key in [*one, *(key for key in other if key not in one)]:
            if key not in one or key not in other:
                a, b = ("<absent>" if key not in side else json.dumps(side[key])[:60] for side in (one, other))
                found.append((f"{path}.{key}", a, b))
            else:
                found += unequal(one[key], other[key], f"{path}.{key}")
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [each for i, pair in enumerate(zip(one, other, strict=True)) for each in unequal(*pair, f"{path}[{i}]")]
    return [] if same(one, other) else [(path, json.dumps(one)[:60], json.dumps(other)[:60])]


def rough(text: str) -> str:
    """A message or path without parts that vary between cases: indices, names, quoted words, numbers."""
    text = re.sub(r"(properties|allOf|anyOf|oneOf|versions)\[[^\]]*\]", r"\1[*]", text)
    text = re.sub(r"(\.properties\[\*\]|\.items\b|\.additionalProperties\b)+", ".<below>", text)
    return re.sub(r'"[^"]*"', '"…"', re.sub(r"\b\d+\b", "N", text))
