"""Finds fields whose length costs a server more than its share of time, memory or answer.

Each list and map of each built-in kind that the served OpenAPI describes is filled with some entries and with twice as
many: equal ones, different ones, wrong ones. It is sent in each way in which an object is written. Twice as much may
take about twice the CPU time, whatever else runs on the machine.

    python -m tests.hostile.growing [--part N/M] [--kubernetes-version 1.37] [KIND ...]

goes through all of them, or through a part, against a server of its own, and prints what it finds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from apiserver_gateway.testing import ApiServer, api_server
from tests.hostile.entries import Entries, Json, entry, minimal, reference, resolved
from tests.hostile.probe import MEGABYTE, cpu_seconds, memory
from tests.integration.server.client import connect
from tests.limits import at_most

Step = str | int  # the name of a member; 0: the first item of a list; "*": a map's members

SIZE = 2000  # entries
LONGEST = 2_900_000  # bytes of a body
ENOUGH = 0.25  # seconds of CPU below which twice as much is not judged
FACTOR, ROUNDS = 3.2, 3
SHARE = 50  # bytes of memory, and of the answer, for each byte that is sent ...
FREE = 64 * MEGABYTE  # ... beyond these, which a server's memory may vary by
NAME = "growing"
_PATIENCE = 120.0
_DEEPEST = 7
_MINIMAL = Path(__file__).parents[1] / "unit/validation/minimal.yaml"
_POD = {"containers": [{"name": "c", "image": "i"}]}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": _POD}
_WORKLOAD = {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}}
_JOB = {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}
_VALID: Json = {
    "v1/ResourceQuota": {"spec": {"hard": {"pods": "100000"}}},
    "v1/Pod": {"spec": _POD},
    "v1/PodTemplate": {"template": _TEMPLATE},
    "v1/ReplicationController": {"spec": {"selector": {"a": "b"}, "template": _TEMPLATE}},
    "apps/v1/Deployment": _WORKLOAD,
    "apps/v1/DaemonSet": _WORKLOAD,
    "apps/v1/ReplicaSet": _WORKLOAD,
    "apps/v1/StatefulSet": _WORKLOAD,
    "batch/v1/Job": {"spec": _JOB},
    "batch/v1/CronJob": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": _JOB}}},
    "v1/Event": {"metadata": {"namespace": "default"}, "involvedObject": {"namespace": "default"}},
    "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration": {"webhooks": []},  # the smallest would be called
}  # objects that are not in the table of the smallest ones


# answers with 500 of kube-apiserver, too
AS_UPSTREAM = (b"failed to create typed patch object", b"does not contain declared merge key")


class Way(Enum):
    """The ways in which an object is written."""

    POST = ("POST", "application/json", "")
    PUT = ("PUT", "application/json", "")
    MERGE = ("PATCH", "application/merge-patch+json", "")
    STRATEGIC = ("PATCH", "application/strategic-merge-patch+json", "")
    APPLY = ("PATCH", "application/apply-patch+yaml", "")
    STATUS = ("PUT", "application/json", "/status")


@dataclass(frozen=True)
class Field:
    """A list or map in an object of a kind."""

    kind: str
    api_version: str
    collection: str  # the path of its collection
    body: Json  # the schema of an object
    schemas: Json
    steps: tuple[Step, ...]
    item: Json  # the schema of an entry
    named: bool = True  # whether objects have paths: reviews and bindings have none

    @property
    def name(self) -> str:
        return f"{self.api_version}/{self.kind}:{'.'.join(map(str, self.steps))}"

    @property
    def in_status(self) -> bool:
        return self.steps[0] == "status"

    def value(self, entries: Entries, size: int) -> Any:
        """Makes `size` entries."""
        made = (entry(self.schemas, self.item, entries, number) for number in range(size))
        if self.steps[-1] == "*":
            return {f"a{number}.io/k{number}": each for number, each in enumerate(made)}
        return list(made)

    def filled(self, obj: Json, entries: Entries, size: int) -> Json:
        """Makes an object with `size` entries in the field, and with the objects that enclose the field."""
        found: Json = json.loads(json.dumps(obj))
        here: Any = found
        schema, steps = resolved(self.schemas, self.body), [step for step in self.steps if step != "*"]
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            if step == 0:
                schema = resolved(self.schemas, schema["items"])
                here = here[0]
                continue
            schema = resolved(self.schemas, schema["properties"][step])
            if after is None:
                here[step] = self.value(entries, size)
            elif after == 0:
                here[step] = here.get(step) or [minimal(self.schemas, schema["items"], 0)]
            elif not isinstance(here.get(step), dict):
                here[step] = minimal(self.schemas, schema, 0)
            here = here[step]
        return found


def fields(schemas: Json, schema: Json, outer: frozenset[str] = frozenset()) -> Iterator[tuple[tuple[Step, ...], Json]]:
    """The lists and maps in a schema: the steps to each, and the schema of its entries."""
    found = reference(schema)
    if (found and found in outer) or len(outer) > _DEEPEST:
        return
    outer |= {found} if found else frozenset()
    for name, below in (resolved(schemas, schema).get("properties") or {}).items():
        if name == "managedFields":
            continue
        one = resolved(schemas, below)
        if one.get("type") == "array":
            yield (name,), one["items"]
            yield from (((name, 0, *steps), item) for steps, item in fields(schemas, one["items"], outer))
        elif one.get("properties"):
            yield from (((name, *steps), item) for steps, item in fields(schemas, below, outer))
        elif isinstance(one.get("additionalProperties"), dict):
            yield (name, "*"), one["additionalProperties"]


class Search:
    """The fields of a server's kinds, and a function that tries one of them."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self._existing: dict[str, Json | None] = {}
        self._minimal: Json = yaml.safe_load(_MINIMAL.read_text(encoding="utf-8"))

    @cached_property
    def fields(self) -> list[Field]:
        """All fields of all kinds; those of metadata only once."""
        found: list[Field] = []
        for group_version, served in self._get("/openapi/v3")["paths"].items():
            if group_version.startswith(("api/", "apis/")) and group_version not in ("api", "apis"):
                found += self._of_document(self._get(served["serverRelativeURL"]))
        return [each for each in found if each.steps[0] != "metadata" or each.kind == "ConfigMap"]

    def _of_document(self, document: Json) -> Iterator[Field]:
        schemas = document.get("components", {}).get("schemas", {})
        for path, operations in document["paths"].items():
            post = operations.get("post")
            if post is None or "{name}" in path or "requestBody" not in post:
                continue
            named = post["x-kubernetes-group-version-kind"]
            version = f"{named['group']}/{named['version']}".removeprefix("/")
            body = next(iter(post["requestBody"]["content"].values()))["schema"]
            collection = path.replace("{namespace}", "default")
            for steps, item in fields(schemas, body):
                yield Field(
                    named["kind"],
                    version,
                    collection,
                    body,
                    schemas,
                    steps,
                    item,
                    f"{path}/{{name}}" in document["paths"],
                )

    def _get(self, path: str) -> Json:
        found: Json = json.loads(self._send("GET", path)[1])
        return found

    def _send(
        self, method: str, path: str, body: bytes = b"", media_type: str = "application/json"
    ) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": media_type}
        connection = connect(self.server, _PATIENCE)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def tries(self, field: Field) -> list[tuple[Way, Entries]]:
        """The ways to try a field. Those that need a stored object are left out if none could be created."""
        ways = [Way.STATUS] if field.in_status else [Way.POST, Way.APPLY, Way.PUT, Way.MERGE, Way.STRATEGIC]
        if not field.named:
            ways = [Way.POST]
        elif self.existing(field) is None:
            ways = [way for way in ways if way in (Way.POST, Way.APPLY)]
        return [(way, entries) for way in ways for entries in Entries]

    def existing(self, field: Field) -> Json | None:
        """A stored object of the field's kind; None if none could be created."""
        if field.collection not in self._existing:
            self._existing[field.collection] = self._made(field)
        return self._existing[field.collection]

    def _made(self, field: Field) -> Json | None:
        if not field.named:
            return None
        known = self._minimal.get(f"{field.api_version}/{field.collection.rpartition('/')[2]}", {}).get("members")
        valid = _VALID.get(f"{field.api_version}/{field.kind}") or known or {}
        for obj in (valid, minimal(field.schemas, field.body, 0)):
            name = obj.get("metadata", {}).get("name", NAME)  # some kinds tell what their objects are called
            named = {**obj, "apiVersion": field.api_version, "kind": field.kind, "metadata": {"name": name}}
            if self._send("POST", field.collection, json.dumps(named).encode())[0] in (201, 409):
                return self._get(f"{field.collection}/{name}")
        return None

    def request(self, field: Field, way: Way, entries: Entries, size: int) -> tuple[str, str, bytes, str]:
        """Returns method, path, body and media type of a request."""
        present = self.existing(field)
        name = present["metadata"]["name"] if present else NAME
        base = {**(present or minimal(field.schemas, field.body, 0)), "metadata": {"name": name}}
        base |= {"apiVersion": field.api_version, "kind": field.kind}
        if present is not None and way in (Way.PUT, Way.STATUS):
            base["metadata"] = {key: each for key, each in present["metadata"].items() if key != "managedFields"}
        elif way in (Way.POST, Way.APPLY):
            base["metadata"] = {"name": f"{name}2"}
        elif way in (Way.MERGE, Way.STRATEGIC):
            base = {"metadata": {"name": name}}
        obj = field.filled(base, entries, size)
        method, media_type, part = way.value
        path = field.collection if way is Way.POST else f"{field.collection}/{base['metadata']['name']}{part}"
        more = "&fieldManager=growing&force=true" if way is Way.APPLY else ""
        stored = "dryRun=All&" if field.named else ""
        return method, f"{path}?{stored}fieldValidation=Ignore{more}", json.dumps(obj).encode(), media_type

    def judge(self, field: Field, way: Way, entries: Entries, size: int = SIZE) -> str:
        """Tries a field. Returns the statuses of the answers. Raises AssertionError if the entries cost more than their
        share.
        """
        once, twice = (self.request(field, way, entries, times * size) for times in (1, 2))
        if len(twice[2]) > LONGEST:
            return "too long"
        what = f"{way.name} {field.name}, {entries.value} entries"
        first, short = self._cost(what, once)
        second, long = self._cost(what, twice)
        ratios: list[float] = []
        while long > ENOUGH and long > FACTOR * short:
            ratios.append(round(long / short, 1))
            if len(ratios) == ROUNDS:
                raise AssertionError(f"{what}: twice as many take {ratios} times as long, {long:.1f} s")
            short, long = self._cost(what, once)[1], self._cost(what, twice)[1]
        return f"{first} {second}"

    def _cost(self, what: str, request: tuple[str, str, bytes, str]) -> tuple[int, float]:
        """The status of the answer, and the CPU time that it took. Raises AssertionError for its memory and length."""
        method, path, body, media_type = request
        pid = self.server.pid
        before, began = memory(pid), cpu_seconds(pid)
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # the peak is counted from here on
        status, text = self._send(method, path, body, media_type)
        taken, allowed = cpu_seconds(pid) - began, SHARE * len(body) + FREE
        words = f"{what}: {{found:.0f}} MB %s for {len(body)} bytes, {{limit:.0f}} are allowed"
        at_most((_peak(pid) - before) / MEGABYTE, allowed / MEGABYTE, words % "of memory")
        at_most(len(text) / MEGABYTE, (SHARE * len(body) + 4 * MEGABYTE) / MEGABYTE, words % "of an answer")
        if status >= 500 and not any(each in text for each in AS_UPSTREAM):
            raise AssertionError(f"{what}: {status} {text[:300]!r}")
        return status, taken


def _peak(pid: int) -> int:
    """The peak of the process's own memory in bytes, since the peak was last cleared."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
    found = {name: int(fields[name].split()[0]) * 1024 for name in ("VmHWM", "RssFile", "RssShmem")}
    return found["VmHWM"] - found["RssFile"] - found["RssShmem"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--part", default="0/1", help="N/M: each Mth try, from the Nth on")
    parser.add_argument("--way", choices=[way.name for way in Way])
    parser.add_argument("--kubernetes-version", help="the minor release that the server serves")
    options = parser.parse_args()
    first, step = map(int, options.part.split("/"))
    flags = [f"--kubernetes-version={options.kubernetes_version}"] if options.kubernetes_version else []
    with api_server(*flags) as server:
        search = Search(server)
        chosen = [each for each in search.fields if not options.kinds or each.kind in options.kinds]
        tries = [(field, *one) for field in chosen for one in search.tries(field)]
        tries = [one for one in tries if options.way in (None, one[1].name)][first::step]
        print(f"{len(chosen)} fields, {len(tries)} tries", flush=True)
        found = 0
        for field, way, entries in tries:
            try:
                search.judge(field, way, entries)
            except (AssertionError, OSError) as error:
                found += 1
                print(f"{way.name} {field.name} {entries.value}: {error}", flush=True)
        print(f"{found} found")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
