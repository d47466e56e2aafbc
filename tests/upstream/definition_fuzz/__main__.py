"""Sends random definitions, and objects of them, to two servers and compares the answers.

    python -m tests.upstream definition_fuzz --peer https://127.0.0.1:6443 --peer-token tok
        [--ours URL --ours-token tok]

The peer is a kube-apiserver, whose answers are right by definition. Ours is started if --ours is not given. The parts:

  definitions  Creates random CRDs with structural schemas, defaults and rules, most with one mistake (dry run).
  updates      Updates installed CRDs with random mistakes (dry run).
  objects      Writes and lists objects of the installed CRDs: create, PUT, merge and JSON patch, apply, status. Writes
               are dry runs.
  changed      The same as objects, after each installed CRD has got another schema. So stored objects are defaulted and
               pruned by the new schema, and writes of invalid ones are ratcheted.

Known differences:

- Empty `dependencies` and `required` in a CRD's schema are dropped here before validation.
- A default of 1.0 becomes 1 here immediately.
- kube-apiserver rounds integers over 2^53 that are keys of set and map items in managedFields.
- kube-apiserver answers 429 to a list while it fills its watch cache.

A case depends only on --seed and its number. Levels of agreement, each of which includes the one before: status (with
the Status' reason and the content type), causes (the set of their reasons and fields), body (all but messages; for an
accepted write, the object as it would be stored), wording. Exits with 1 if the agreement is below --require.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import copy
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from apiserver_gateway.testing import api_server
from tests.upstream import PEER

from .facts import Json
from .schemas import Maker, mutate_definition
from .servers import LEVELS, VERSION, Request, Result, Side
from .values import mutate_value, sites, value_of

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DRY = "dryRun=All&fieldManager=fuzz"
OBJECTS = 4  # at most, for each installed definition


class Fuzz:
    """One run: its definitions, objects and results."""

    def __init__(self, options: argparse.Namespace, peer: Side, ours: Side) -> None:
        self.options, self.peer, self.ours = options, peer, ours
        self.group = f"f{int(time.time()) % 10**6}.example.com"
        self.installed = dict[int, Json]()
        self.objects = dict[int, dict[str, Any]]()  # of a definition: name -> the peer's object
        self.results = list[Result]()

    def rng(self, *what: object) -> random.Random:
        return random.Random(f"{self.options.seed} {what}")

    def all(self, part: str, cases: list[tuple[str, Request]]) -> None:
        """Sends the requests to both servers and keeps the answers."""

        def one(case: tuple[str, Request]) -> Result:
            return Result(case[0], case[1], self.peer.ask(case[1]), self.ours.ask(case[1]))

        begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            results = list(pool.map(one, cases))
        self.results += results
        accepted = sum(result.peer.status < 300 for result in results)
        parts = " ".join(f"{name} {share(results, level)} %" for level, name in enumerate(LEVELS))
        seconds = time.monotonic() - begun
        print(f"{part:12} {len(results):5} cases, {accepted} accepted: {parts}   ({seconds:.0f} s)", flush=True)

    # definitions

    def definitions(self) -> None:
        cases = []
        for number in range(self.options.definitions):
            rng = self.rng("definition", number)
            definition, done = Maker(rng).definition(self.group, number), list[str]()
            if rng.random() < 0.85:
                done = mutate_definition(rng, definition)
            about = "; ".join(done) or "nothing"
            cases.append((f"definition/{number}", Request("POST", f"{DEFINITIONS}?{DRY}", definition, about=about)))
        self.all("definitions", cases)

    def updates(self) -> None:
        cases = []
        for number, definition in self.installed.items():
            for turn in range(self.options.updates):
                rng = self.rng("update", number, turn)
                changed = copy.deepcopy(definition)
                about = "; ".join(mutate_definition(rng, changed))
                path = f"{DEFINITIONS}/{definition['metadata']['name']}?{DRY}"
                patch = [{"op": "replace", "path": "/spec", "value": changed["spec"]}]
                cases.append((f"update/{number}/{turn}", Request("PATCH", path, patch, "json", about)))
        self.all("updates", cases)

    def install(self) -> None:
        """Creates random definitions on both servers, and objects of each one that both accept."""
        for number in range(self.options.kinds):
            definition = Maker(self.rng("kind", number), rules=0.05).definition(self.group, 100_000 + number)
            request = Request("POST", f"{DEFINITIONS}?fieldManager=fuzz", definition, about="nothing")
            self._both(f"kind/{number}", request)
            if self.results[-1].peer.status == 201 == self.results[-1].ours.status:
                self.installed[number] = definition
        for definition in self.installed.values():
            for side in (self.peer, self.ours):
                until_served(side, collection(definition))
        for number, definition in self.installed.items():
            for turn in range(OBJECTS * 3):
                rng = self.rng("base", number, turn)
                obj = new_object(rng, definition, f"base-{turn}", odd=0.0)
                self._both(f"base/{number}/{turn}", Request("POST", f"{collection(definition)}?fieldManager=base", obj))
                if self.results[-1].peer.status == 201 == self.results[-1].ours.status:
                    self.objects.setdefault(number, {})[f"base-{turn}"] = None
                if len(self.objects.get(number, ())) == OBJECTS:
                    break

    def _both(self, name: str, request: Request) -> None:
        self.results.append(Result(name, request, self.peer.ask(request), self.ours.ask(request)))

    # objects

    def cases(self, part: str, share_of_kinds: Callable[[int], bool] = lambda number: True) -> None:
        self.read()
        cases = []
        for number, definition in self.installed.items():
            if not share_of_kinds(number):
                continue
            cases += list(self.reads(part, number, definition))
            for turn in range(self.options.count):
                rng = self.rng(part, number, turn)
                cases.append((f"{part}/{number}/{turn}", self.case(rng, number, definition)))
        self.all(part, cases)

    def read(self) -> None:
        for number, objects in self.objects.items():
            definition = self.installed[number]
            if not any(each["name"] == "v1" and each.get("served") for each in definition["spec"]["versions"]):
                self.objects[number] = {}
                continue
            for side in (self.peer, self.ours):
                until_served(side, collection(definition))
            for name in objects:
                path = f"{collection(definition)}/{name}"
                objects[name] = self.peer.remember(path)
                self.ours.remember(path)

    def reads(self, part: str, number: int, definition: Json) -> Iterator[tuple[str, Request]]:
        for version in definition["spec"]["versions"]:
            path = collection(definition, version["name"])
            yield f"{part}/{number}/list/{version['name']}", Request("GET", path, about="list")

    def case(self, rng: random.Random, number: int, definition: Json) -> Request:
        """A write of an object."""
        objects = self.objects.get(number) or {}
        version = rng.choice(definition["spec"]["versions"])
        path = collection(definition, version["name"])
        query = DRY
        if rng.random() < 0.5:
            query += f"&fieldValidation={rng.choice(['Strict', 'Warn', 'Ignore'])}"
        verbs = ["create", "create", "put", "merge", "json", "apply", "apply"] if objects else ["create"]
        verb = rng.choice(verbs)
        if verb == "create":
            made = new_object(rng, definition, "new", version=version, odd=0.02)
            return Request("POST", f"{path}?{query}", made, about="; ".join(spoil(rng, made)))
        name = rng.choice(sorted(objects))
        old, at_path = objects[name], f"{collection(definition)}/{name}"
        target = f"{path}/{name}"
        if "status" in (version.get("subresources") or {}) and rng.random() < 0.35:
            target += "/status"
        if verb == "apply":
            made = new_object(rng, definition, name, version=version, odd=0.01)
            if rng.random() < 0.5:
                made = {**made, **{key: old[key] for key in ("spec", "status") if key in old and rng.random() < 0.7}}
            query = query.replace("=fuzz", f"={rng.choice(['base', 'applier'])}")
            force = "&force=true" if rng.random() < 0.6 else ""
            return Request("PATCH", f"{target}?{query}{force}", made, verb, "; ".join(spoil(rng, made)))
        new = {**copy.deepcopy(old), "apiVersion": f"{definition['spec']['group']}/{version['name']}"}
        new["metadata"] = {"name": name, "resourceVersion": VERSION, "labels": {"touched": "yes"}}
        if rng.random() < 0.3:
            fresh = new_object(rng, definition, name, version=version, odd=0.02)
            new |= {key: fresh[key] for key in fresh if key in ("spec", "status")}
        about = "; ".join(spoil(rng, new))
        match verb:
            case "put":
                return Request("PUT", f"{target}?{query}", new, about=about, of=at_path)
            case "merge":
                return Request("PATCH", f"{target}?{query}", merge_patch(old, new), verb, about, at_path)
        operations = [
            {"op": rng.choice(["replace", "add"]), "path": f"/{key}", "value": value}
            for key, value in new.items()
            if key not in ("metadata", "apiVersion", "kind") and (key in old or rng.random() < 0.5)
        ]
        return Request("PATCH", f"{target}?{query}", operations, verb, about, at_path)

    def change(self) -> None:
        """Gives every installed definition another schema."""
        for number, definition in list(self.installed.items()):
            rng, before = self.rng("change", number), len(self.results)
            for turn in range(8):
                changed = copy.deepcopy(definition)
                if turn % 2:
                    mutate_definition(rng, changed)
                else:
                    fresh = Maker(rng, rules=0.05).version("v1")
                    for version in changed["spec"]["versions"]:
                        version["schema"] = fresh["schema"]
                path = f"{DEFINITIONS}/{definition['metadata']['name']}"
                patch = [{"op": "replace", "path": "/spec", "value": changed["spec"]}]
                self._both(f"change/{number}/{turn}", Request("PATCH", path, patch, "json"))
                if self.results[-1].peer.status == 200 == self.results[-1].ours.status:
                    self.installed[number] = changed
                    break
            assert len(self.results) > before
        time.sleep(3)  # until the changes are in force

    def clean_up(self) -> None:
        for definition in self.installed.values():
            for side in (self.peer, self.ours):
                side.ask(Request("DELETE", f"{DEFINITIONS}/{definition['metadata']['name']}"))


def collection(definition: Json, version: str = "v1") -> str:
    return f"/apis/{definition['spec']['group']}/{version}/things"


def until_served(side: Side, path: str) -> None:
    """Waits until a path is served."""
    end = time.monotonic() + 120
    while side.ask(Request("GET", path)).status != 200:
        if time.monotonic() > end:
            raise SystemExit(f"{path} is not served")
        time.sleep(0.1)


def new_object(rng: random.Random, definition: Json, name: str, *, version: Json | None = None, odd: float) -> Json:
    version = version or definition["spec"]["versions"][0]
    schema = copy.deepcopy(version["schema"]["openAPIV3Schema"])
    schema.get("properties", {}).pop("metadata", None)
    made = value_of(rng, schema, odd)
    head = {"apiVersion": f"{definition['spec']['group']}/{version['name']}", "kind": "Thing"}
    return {**(made if isinstance(made, dict) else {}), **head, "metadata": {"name": name}}


def spoil(rng: random.Random, obj: Json) -> list[str]:
    """Changes an object in 0 to 2 places. Returns descriptions of the changes."""
    done = []
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        found = [path for path in sites(obj) if path and path[0] not in ("metadata", "apiVersion", "kind")]
        if found:
            done.append(mutate_value(rng, obj, rng.choice(found)))
    return done or ["nothing"]


def merge_patch(old: Any, new: Any) -> Any:
    """The merge patch from one object to another. Metadata is taken from `new` as it is."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    patch: Json = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key == "metadata":
            patch[key] = value
        elif key not in old or json.dumps(old[key]) != json.dumps(value):
            patch[key] = merge_patch(old.get(key), value)
    return patch


# --- the report -------------------------------------------------------------------------------------------------


def share(results: list[Result], level: int) -> float:
    """How many per cent agree at a level, rounded down."""
    return int(1000 * sum(result.level > level for result in results) / max(1, len(results))) / 10


def report(results: list[Result], show: int) -> None:
    found = collections.defaultdict(list)
    for result in results:
        if result.level < len(LEVELS):
            for line in sorted(set(result.differences())):
                found[line].append(result.name)
    print()
    for line, names in sorted(found.items(), key=lambda pair: -len(pair[1]))[:show]:
        print(f"{len(names):5}  {line}   [{', '.join(names[:3])}]")
    broken = [each.name for each in results if each.peer.status < 500 and not 0 < each.ours.status < 500]
    if broken:
        print(f"ours answered {len(broken)} with a server error or not at all: {', '.join(broken[:5])}")


def as_json(result: Result) -> Json:
    request = result.request
    return {
        "case": result.name,
        "about": request.about,
        "agree": LEVELS[: result.level],
        "request": f"{request.method} {request.path}",
        "sent": request.body,
        "differences": result.differences(),
        "peer": [result.peer.status, result.peer.warnings, result.peer.body],
        "ours": [result.ours.status, result.ours.warnings, result.ours.body],
    }


def main(words: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peer", required=True, help="URL of a kube-apiserver")
    parser.add_argument("--peer-token", default="tok")
    parser.add_argument("--ours", help="URL of the server under test; without it one is started")
    parser.add_argument("--ours-token", default="tok")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--definitions", type=int, default=400, help="definitions that are created")
    parser.add_argument("--kinds", type=int, default=30, help="definitions that are installed")
    parser.add_argument("--updates", type=int, default=5, help="updates of each")
    parser.add_argument("--count", type=int, default=30, help="cases of objects of each")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--show", type=int, default=40)
    parser.add_argument("--json", type=Path, help="write every case that differs there")
    parser.add_argument("--require", default="98,95,98", help="per cent of status, causes, body that must agree")
    options = parser.parse_args(words)
    with contextlib.ExitStack() as stack:
        if options.ours is None:
            server = stack.enter_context(api_server("--disable-admission-plugins=ServiceAccount", version=PEER))
            options.ours, options.ours_token = server.url, server.token
        fuzz = Fuzz(options, Side(options.peer, options.peer_token), Side(options.ours, options.ours_token))
        fuzz.definitions()
        try:
            fuzz.install()
            fuzz.updates()
            fuzz.cases("objects")
            fuzz.change()
            fuzz.cases("changed")
        finally:
            fuzz.clean_up()
    report(fuzz.results, options.show)
    shares = [share(fuzz.results, level) for level in range(len(LEVELS))]
    parts = " ".join(f"{name} {part} %" for name, part in zip(LEVELS, shares, strict=True))
    print(f"agreement: {parts} of {len(fuzz.results)} cases")
    if options.json:
        differing = [as_json(result) for result in fuzz.results if result.level < len(LEVELS)]
        options.json.write_text(json.dumps({"cases": differing, "installed": fuzz.installed}, indent=1))
    required = map(float, options.require.split(","))
    return int(any(part < wanted for part, wanted in zip(shares, required, strict=False)))
