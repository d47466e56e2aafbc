"""Sends faulty objects to a kube-apiserver in dry runs, and records its answers."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from gateway.release.minors import DEFAULT
from tests.unit.validation.replaying import resource_of

from .wrongs import Patch, dotted, patched

Json = dict[str, Any]

NAMESPACE = "default"


@dataclass(slots=True)
class Base:
    """A valid object: in the form of its creation, and as the server then returns it."""

    resource: str  # "apps/v1/deployments"
    name: str
    create: Json
    entry: Json  # the entry in objects.yaml
    old: Json | None = None
    minor: str = DEFAULT  # of the server that is asked
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Case:
    """A faulty object for a request, and the server's answer."""

    base: Base
    via: str  # "create", "update", or the subresource that is updated
    patch: Patch
    written: bool = False  # whether the fault is from objects.yaml, and not made from the types
    code: int = 0
    reason: str = ""
    message: str = ""
    causes: list[list[str]] = field(default_factory=list)
    unordered: bool = False  # whether the causes come in another order each time

    @property
    def sent(self) -> Json:
        """The object with the fault."""
        whole = self.base.create if self.via == "create" else self.base.old
        made: Json = patched(whole, self.patch)
        return made

    @property
    def subresource(self) -> str:
        return "" if self.via in ("create", "update") else self.via


class Peer:
    """A kube-apiserver; each thread has a connection."""

    def __init__(self, url: str, token: str) -> None:
        self._place, self._token = urllib.parse.urlsplit(url).netloc, token
        self._context = ssl._create_unverified_context()
        self._local = threading.local()

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Json]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        text = None if body is None else json.dumps(body)
        for attempt in (1, 2):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = http.client.HTTPSConnection(self._place, timeout=60, context=self._context)
                self._local.connection = connection
            try:
                connection.request(method, path, text, headers)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                self._local.connection = None
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def install(self, base: Base) -> str:
        """Creates an object with its status. Returns the reason if that fails, else ""."""
        place = path(base)
        code, answer = self.call("POST", place, patched(base.create, dotted(base.entry.get("installed", {}))))
        if code not in (201, 409):
            return f"{base.resource} {base.name}: {code} {answer.get('message')}"
        if status := base.entry.get("status"):
            present = self.call("GET", f"{place}/{base.name}")[1]
            code, answer = self.call("PUT", f"{place}/{base.name}/status", {**present, "status": status})
            if code != 200:
                return f"{base.resource} {base.name}/status: {code} {answer.get('message')}"
        return ""

    def remember(self, base: Base) -> None:
        """Notes an object as the server has it."""
        base.old = self.call("GET", f"{path(base)}/{base.name}")[1]
        base.old["metadata"].pop("managedFields", None)

    def ask(self, case: Case) -> Case:
        """Tries a fault and keeps the answer: code 0 if the server breaks the connection, as after a panic."""
        try:
            return self._ask(case)
        except (OSError, http.client.HTTPException, ValueError):
            return case

    def _ask(self, case: Case) -> Case:
        place = path(case.base)
        if case.via == "create":
            case.code, answer = self.call("POST", f"{place}?dryRun=All", case.sent)
        else:
            place = f"{place}/{case.base.name}" + (f"/{case.subresource}" if case.subresource else "")
            case.code, answer = self.call("PUT", f"{place}?dryRun=All", case.sent)
        if case.code < 400:
            return case
        case.reason, case.message = answer.get("reason", ""), answer.get("message", "")
        causes = (answer.get("details") or {}).get("causes") or []
        case.causes = [[each.get("reason", ""), each.get("field", ""), each.get("message", "")] for each in causes]
        return case

    def ask_all(self, cases: list[Case]) -> None:
        with ThreadPoolExecutor(3) as pool:
            for number, _ in enumerate(pool.map(self.ask, cases)):
                if number % 2000 == 1999:
                    print(f"  {number + 1} of {len(cases)}", flush=True)


def path(base: Base) -> str:
    """The path of an object's collection."""
    group_version, _, plural = base.resource.rpartition("/")
    root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    namespaced = resource_of(base.resource, minor=base.minor).namespaced
    return f"{root}/namespaces/{NAMESPACE}/{plural}" if namespaced else f"{root}/{plural}"
