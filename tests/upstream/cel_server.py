"""Records what a kube-apiserver says of definitions with the rules of tests/unit/cel/cases.json, and of objects.

    python -m tests.upstream cel_server --server https://127.0.0.1:6443 --token TOKEN    # certificates are not verified

Writes tests/unit/cel/server.json: "definitions", the causes for which each rule's definition is refused (nothing is
created), and "objects", the causes for which objects of definitions with rules are.
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "unit" / "cel"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SELF_TYPE = re.compile(r"selfType\d+")
Json = dict[str, Any]


class Server:
    """A kube-apiserver."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._context = ssl._create_unverified_context()

    def send(self, method: str, path: str, body: Json | None = None) -> Json:
        """Returns the JSON of the answer, for any status code."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Content-Type", "application/json")
        try:
            answer = urllib.request.urlopen(request, context=self._context)
        except urllib.error.HTTPError as error:
            answer = error
        text = answer.read().decode()
        loaded: Json = json.loads(_SELF_TYPE.sub("selfType", text)) if text.startswith("{") else {"message": text}
        return loaded


def definition(schema: Json, number: int) -> Json:
    """A definition of objects with that schema."""
    group = f"cel{number}.example.com"
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]},
    }


def with_rule(case: Json, document: Json) -> Json:
    """A schema with the rule of a case, at the root or at the property "spec"."""
    rule: Json = {"rule": case["expression"]}
    if case.get("optionalOldSelf"):
        rule["optionalOldSelf"] = True
    schema = {**document["schemas"][case["schema"]], "x-kubernetes-validations": [rule]}
    if case.get("root"):
        return schema
    return {"type": "object", "properties": {"spec": schema}}


def causes(answer: Json) -> list[tuple[str, str]]:
    """The fields and messages of the causes of a refusal."""
    listed = (answer.get("details") or {}).get("causes") or []
    return sorted((each.get("field", ""), each.get("message", "")) for each in listed)


def objects(server: Server, document: Json) -> list[Any]:
    """The causes of the refusals when the objects of `validations` are created."""
    answers: list[Any] = []
    for number, schema in enumerate(sorted({each["schema"] for each in document["validations"]})):
        made = server.send("POST", DEFINITIONS, definition(document["schemas"][schema], number))
        path = f"/apis/cel{number}.example.com/v1/things"
        if "spec" in made and not causes(made):
            _wait(server, path)
            for case in document["validations"]:
                if case["schema"] == schema and "oldSelf" not in case:
                    body = {**document["objects"][case["self"]], "kind": "Thing", "apiVersion": path[6:-7]}
                    refusal = causes(server.send("POST", f"{path}?dryRun=All", body))
                    answers.append({"schema": schema, "self": case["self"], "causes": refusal})
        server.send("DELETE", f"{DEFINITIONS}/things.cel{number}.example.com")
    return answers


def _wait(server: Server, path: str) -> None:
    for _ in range(100):
        if "items" in server.send("GET", path):
            return
        time.sleep(0.1)


def main(words: Sequence[str]) -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--server", required=True)
    arguments.add_argument("--token", required=True)
    given = arguments.parse_args(words)
    server = Server(given.server, given.token)
    document = json.loads((FOLDER / "cases.json").read_text())
    answers = [
        causes(server.send("POST", f"{DEFINITIONS}?dryRun=All", definition(with_rule(case, document), 0)))
        for case in document["rules"]
    ]
    found = {"definitions": answers, "objects": objects(server, document)}
    (FOLDER / "server.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
