"""Has two servers judge the same writes by the same random webhooks and policies, and compares all that comes of it:
answers, warnings, and what webhooks were asked.

    python -m tests.upstream admission_fuzz --peer https://127.0.0.1:6443 --tokens FILE [--ours URL]

The peer is a kube-apiserver, the judge; ours is started if it is not named. Both know the tokens of FILE. In each round
new configurations are made, each about the objects of one group, which a label names; then random writes of such
objects are sent as dry runs. A case is a function of --seed, its round and its number. Known to differ:

  retries   an update that conflicts with what the peer's cache has asks webhooks again; deletions of pods, too
  order     of policies and of their bindings is a map's there; of two webhooks that refuse, the faster one is told

Exit 1 if fewer cases agree than --require says.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apiserver_gateway.testing import api_server
from tests.upstream import PEER

from ..definition_fuzz.__main__ import as_json, report, share, until_served
from ..definition_fuzz.servers import LEVELS, Request, Result, Side
from .configurations import PATH, policies, webhooks
from .hooks import Hooks
from .objects import COLLECTIONS, NAMESPACES, definition, new, request

Json = dict[str, Any]

_GENERATED = re.compile(r'("(?:new|[ab]-\d+)-)[a-z0-9]{5}(\\*")')
_EXPECTED = re.compile(r'(expected response.uid=\\+")[-a-z0-9]+')
SETTLE = 2.5  # seconds until the peer's informers have what was written


class Fuzz:
    """One run."""

    def __init__(self, options: argparse.Namespace, peer: Side, ours: Side) -> None:
        self.options, self.sides, self.hooks = options, {"peer": peer, "ours": ours}, Hooks()
        self.results = list[Result]()
        self.made = list[tuple[str, str]]()  # the installed objects: side, path
        self.installed = list[Json]()

    def rng(self, *what: object) -> random.Random:
        return random.Random(f"{self.options.seed} {what}")

    def both(self, ask: Request) -> list[int]:
        return [side.ask(copy.deepcopy(ask)).status for side in self.sides.values()]

    def prepare(self) -> None:
        """Creates what all rounds use."""
        self.both(Request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition()))
        for side in self.sides.values():
            until_served(side, COLLECTIONS["gadgets"].format(version="v2", namespace="fuzz-a"))
        for name, labels in NAMESPACES.items():
            self.both(Request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}}))
        limit = {"metadata": {"name": "limit", "labels": {"param": "yes"}}, "data": {"limit": "3"}}
        second = {"metadata": {"name": "second", "labels": {"param": "yes"}}, "data": {"limit": "2"}}
        for namespace, obj in (("fuzz-params", limit), ("fuzz-params", second), ("fuzz-a", limit)):
            self.both(Request("POST", f"/api/v1/namespaces/{namespace}/configmaps", obj))
        for resource, path in COLLECTIONS.items():
            for namespace in ("fuzz-a", "fuzz-b"):  # another run may have created them
                at = path.format(namespace=namespace, version="v1")
                self.both(Request("DELETE", f"{at}?labelSelector=g", {"gracePeriodSeconds": 0}))
            for group in range(self.options.groups):
                for namespace in ("fuzz-a", "fuzz-b"):
                    for name in "ab":
                        obj = new(self.rng("base", resource, group, name), resource, str(group), f"{name}-{group}")
                        self.both(Request("POST", path.format(namespace=namespace, version="v1"), obj))

    def configure(self, number: int) -> None:
        """Installs the configurations of a round. Both servers must refuse the same ones."""
        for group in range(self.options.groups):
            for part in range(self.options.parts):
                rng, place = self.rng("configuration", number, group, part), group * 10 + part
                found = {
                    side: [
                        *policies(self.rng("policy", number, group, part), str(group), place),
                        *webhooks(random.Random(str(rng.getstate()[1][:3])), str(group), place, self.hooks, side),
                    ]
                    for side in self.sides
                }
                for (plural, peers), (_, ours) in zip(found["peer"], found["ours"], strict=True):
                    asks = [Request("POST", f"{PATH}/{plural}", obj) for obj in (peers, ours)]
                    answers = [side.ask(ask) for side, ask in zip(self.sides.values(), asks, strict=True)]
                    case = f"{number}/{plural}/{peers['metadata']['name']}"
                    if answers[0].status >= 300 or answers[1].status >= 300:
                        self.results.append(Result(case, asks[0], *answers))
                    self.installed.append({"round": number, "group": group, "plural": plural, "object": peers})
                    self.made += [(side, f"{PATH}/{plural}/{peers['metadata']['name']}") for side in self.sides]
        time.sleep(SETTLE)

    def clear(self) -> None:
        for side, path in self.made:
            self.sides[side].ask(Request("DELETE", path))
        self.made.clear()
        time.sleep(SETTLE / 2)

    def write(self, number: int) -> None:
        """Sends the writes of a round, one after the other."""
        begun, before = time.monotonic(), len(self.results)
        for turn in range(self.options.count):
            rng = self.rng("write", number, turn)
            group = str(rng.randrange(self.options.groups))
            ask, answers = request(rng, group), []
            for name, side in self.sides.items():
                answer = side.ask(copy.deepcopy(ask))
                body = {"answer": answer.body, "asked": asked(self.hooks.take(name))}
                if isinstance(answer.body, dict) and answer.body.get("kind") == "Status":
                    body = {**answer.body, "asked": body["asked"]}
                text = _EXPECTED.sub(r"\1<chosen>", json.dumps(body))
                if "generateName" in json.dumps(ask.body):
                    text = _GENERATED.sub(r"\1<generated>\2", text)
                body = json.loads(text)
                answers.append(type(answer)(answer.status, answer.content_type, answer.warnings, body))
            self.results.append(Result(f"{number}/{turn}/g{group}", ask, *answers))
        results = self.results[before:]
        accepted = sum(result.peer.status < 300 for result in results)
        parts = " ".join(f"{name} {share(results, level)} %" for level, name in enumerate(LEVELS))
        seconds = time.monotonic() - begun
        print(f"round {number:3} {len(results):5} cases, {accepted} accepted: {parts}   ({seconds:.0f} s)", flush=True)


def asked(noted: list[Json]) -> list[Json]:
    """The reviews that webhooks got, without values that a server chooses. Validating webhooks are called
    concurrently.
    """

    def even(node: Any) -> Any:
        match node:
            case dict():
                return {
                    key: "<chosen>"
                    if key in ("uid", "resourceVersion", "creationTimestamp", "time") and value
                    else even(value)
                    for key, value in node.items()
                }
            case list():
                return [even(each) for each in node]
        return node

    found: list[Json] = even(noted)
    for each in found:
        review = each["review"]["request"]
        for key in ("object", "oldObject"):
            meta = (review.get(key) or {}).get("metadata") or {}
            if isinstance(entries := meta.get("managedFields"), list):
                meta["managedFields"] = sorted(entries, key=lambda entry: json.dumps(entry, sort_keys=True))
    mutating = [each for each in found if each["path"].startswith("mutating")]
    validating = [each for each in found if not each["path"].startswith("mutating")]
    return mutating + sorted(validating, key=lambda each: json.dumps(each, sort_keys=True))


def main(words: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peer", required=True, help="URL of a kube-apiserver")
    parser.add_argument(
        "--tokens", required=True, help="file of tokens that both know, of which `tok` may do everything"
    )
    parser.add_argument("--ours", help="URL of the server under test; without it one is started")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the number of the first round")
    parser.add_argument("--groups", type=int, default=25, help="of cases, each with configurations of its own")
    parser.add_argument("--parts", type=int, default=1, help="policies and configurations of each sort, for each group")
    parser.add_argument("--count", type=int, default=300, help="writes in a round")
    parser.add_argument("--show", type=int, default=40)
    parser.add_argument("--json", type=Path, help="write every case that differs there")
    parser.add_argument("--require", default="98,98,97", help="per cent of status, causes, body that must agree")
    options = parser.parse_args(words)
    with contextlib.ExitStack() as stack:
        if options.ours is None:
            flags = (
                "--disable-admission-plugins=ServiceAccount",
                f"--token-auth-file={options.tokens}",
                "--controllers=-*",
            )
            options.ours = stack.enter_context(api_server(*flags, version=PEER)).url
        fuzz = Fuzz(options, Side(options.peer, "tok"), Side(options.ours, "tok"))
        fuzz.prepare()
        try:
            for number in range(options.first, options.first + options.rounds):
                fuzz.configure(number)
                fuzz.write(number)
                fuzz.clear()
        finally:
            fuzz.clear()
    if options.json:
        differing = [as_json(result) for result in fuzz.results if result.level < len(LEVELS)]
        options.json.write_text(json.dumps({"cases": differing, "installed": fuzz.installed}, indent=1))
    report(fuzz.results, options.show)
    shares = [share(fuzz.results, level) for level in range(len(LEVELS))]
    parts = " ".join(f"{name} {part} %" for name, part in zip(LEVELS, shares, strict=True))
    print(f"agreement: {parts} of {len(fuzz.results)} cases")
    required = map(float, options.require.split(","))
    return int(any(part < wanted for part, wanted in zip(shares, required, strict=False)))
