"""Requests made from the served OpenAPI documents: each gets an answer, and one that the documents tell of.

    python -m tests.hostile.contract --cases 3000 [--seed 1] [--only apis/apps/v1]

sends so many to a server of its own, spread over the operations of all group versions, and prints what is wrong. A
document alone leads to refusals for the most part, since it says little of what is valid. So there is an object of each
kind before, whose name stands in most paths, and most bodies are such an object with one member from the document.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import schemathesis
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from apiserver_gateway.testing import ApiServer, api_server
from gateway.schema.catalog import META
from tests.integration.server.client import ask

ROOT = Path(__file__).parents[2]
OBJECTS = (
    ROOT / "tests" / "unit" / "validation" / "minimal.yaml",
    ROOT / "tests" / "upstream" / "protobuf_objects.yaml",
)
NAME = "known"
NAMES = st.sampled_from([NAME] * 8 + ["absent"]) | st.text(max_size=8)
NAMESPACES = st.sampled_from(["default"] * 9 + ["absent"])
ENDLESS = ("watch", "allowWatchBookmarks", "sendInitialEvents", "timeoutSeconds")  # parameters of watches
WITHOUT_END = ("watch", "watchlist", "connect")  # actions that are not requests with one answer
TIMEOUT = 60.0
UNTYPED = ("failed to create typed patch object", "to proper version: unable to convert unstructured object to ")
RULES = [not_a_server_error, response_schema_conformance, content_type_conformance]


@dataclass(slots=True)
class Findings:
    """The results: how often each status was answered, and descriptions of the answers that break a rule."""

    statuses: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return self.statuses.total()


ISSUER = {"/.well-known/openid-configuration/", "/openid/v1/jwks/"}


class Contract:
    """The operations of a server's OpenAPI documents, and a session that sends cases to them."""

    def __init__(self, server: ApiServer, only: str = "") -> None:
        self._server = server
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {server.token}"
        self._known = dict(_known_objects())
        for path, known in self._known.items():
            ask(server, "POST", path, known)
        places = ask(server, "GET", "/openapi/v3").json["paths"]
        self.documents = {
            place: list(self._operations(found["serverRelativeURL"]))
            for place, found in sorted(places.items())
            if only in place
        }

    def _operations(self, address: str) -> Iterator[Any]:
        document = schemathesis.openapi.from_dict(_completed(ask(self._server, "GET", address).json))
        document.config.update(base_url=self._server.url)
        for found in document.get_all_operations():
            operation = found.ok()
            if operation.definition.raw.get("x-kubernetes-action") not in WITHOUT_END:
                yield operation

    def send(self, operation: Any, cases: int, number: int, findings: Findings) -> None:
        """Sends `cases` requests of an operation, the same ones for the same `number`."""

        @seed(number)
        @settings(
            max_examples=cases,
            deadline=None,
            database=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(operation.as_strategy(), NAMES, NAMESPACES, st.randoms(use_true_random=False))
        def run(case: Any, name: str, namespace: str, random: Any) -> None:
            for parameter in ENDLESS:
                (case.query or {}).pop(parameter, None)
            for variable, value in (("name", name), ("namespace", namespace)):
                if variable in (case.path_parameters or {}) and value.strip("./"):
                    case.path_parameters[variable] = value
            self._make_valid(case, random)
            self._judge(case, findings)

        run()

    def _make_valid(self, case: Any, random: Any) -> None:
        """Gives most requests a body that has one member from the document, and fewer parameters."""
        if random.random() < 0.8:
            case.query = {key: value for key, value in (case.query or {}).items() if random.random() < 0.1}
        if case.method != "PATCH" and random.random() < 0.95:
            case.media_type = "application/json"
        collection = case.operation.path.partition("/{name}")[0].replace("{namespace}", "default")
        known = self._known.get(collection)
        if not isinstance(case.body, dict) or known is None or random.random() < 0.2:
            return
        members = [key for key in case.body if key not in ("apiVersion", "kind", "metadata")]
        chosen = {key: case.body[key] for key in members if random.random() < 0.6 / len(members)}
        match case.method:
            case "PUT":
                case.body = known | chosen
            case "POST" if not case.operation.path.endswith("}"):
                case.body = {**known, "metadata": {"generateName": "made-"}} | chosen
            case "PATCH":
                case.media_type = random.choice(["application/merge-patch+json", "application/apply-patch+yaml"])
                case.query = {"fieldManager": "me", "force": "true"} if "apply" in case.media_type else {}
                case.body = known | chosen

    def _judge(self, case: Any, findings: Findings) -> None:
        case.headers = {**(case.headers or {}), "Accept": "application/json"}
        answer = case.call(session=self._session, timeout=TIMEOUT, verify=str(self._server.ca_file))
        findings.statuses[answer.status_code] += 1
        if answer.status_code == 500 and any(text in answer.text for text in UNTYPED):
            return  # kube-apiserver's answer to an apply with a field that the schema lacks or has with another type
        sent = f"{case.method} {answer.request.url} {str(case.body)[:2000] if case.body else ''}"
        if answer.status_code >= 400 and not _is_status(answer):
            findings.broken.append(f"{sent}\n{answer.status_code} is not a Status: {answer.text[:300]}")
        if answer.status_code < 300 and str(answer.status_code) not in case.operation.definition.raw["responses"]:
            findings.broken.append(f"{sent}\n{answer.status_code} is not in the document")
        try:
            case.validate_response(answer, checks=RULES)
        except FailureGroup as group:
            findings.broken += [f"{sent}\n{failure}\n{answer.text[:1000]}" for failure in group.exceptions]
        except Failure as failure:
            findings.broken.append(f"{sent}\n{failure}\n{answer.text[:1000]}")


def _completed(document: Any) -> Any:
    """Adds to a document what Kubernetes' own documents leave out, and clients know.

    Go writes a required list, map or time that is not set as null. A deletion answers a Status or the object, whichever
    the document names: the object if finalizers keep it, or if the kind does so. The document of the service account
    issuer's discovery says string where the answer is an object.
    """
    for path in ISSUER & document["paths"].keys():
        for content in document["paths"][path]["get"]["responses"]["200"]["content"].values():
            content["schema"] = {"type": "object"}
    for item in document["paths"].values():
        answered = (item.get("get") or {}).get("responses", {}).get("200", {}).get("content")
        if answered and "delete" in item:
            for response in item["delete"]["responses"].values():
                for media_type, content in response.get("content", {}).items():
                    content["schema"] = {"anyOf": [content["schema"], answered.get(media_type, content)["schema"]]}
                    content["schema"]["anyOf"].append({"$ref": f"#/components/schemas/{META}Status"})
    for name, schema in document["components"].get("schemas", {}).items():
        if name in (f"{META}Time", f"{META}MicroTime"):
            schema["nullable"] = True
        for member in schema.get("properties", {}).values():
            if member.get("type") == "array" or "additionalProperties" in member:
                member["nullable"] = True
    return document


def _is_status(answer: Any) -> bool:
    """Whether an answer is a Status with the code of the answer, or text, as for paths that name no resource."""
    if not answer.headers.get("Content-Type", "").startswith("application/json"):
        return answer.status_code < 500
    body = answer.json()
    return bool(body.get("kind") == "Status" and body.get("code") == answer.status_code)


def _known_objects() -> Iterator[tuple[str, Any]]:
    """An object of each kind, by the path of its collection."""
    for file in OBJECTS:
        text = file.read_text(encoding="utf-8").replace("NAMESPACE", "default")
        for place, known in yaml.safe_load(text).items():
            group_version, _, resource = place.rpartition("/")
            root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
            path = f"{root}/namespaces/default/{resource}" if known["namespaced"] else f"{root}/{resource}"
            named = {"apiVersion": group_version, "kind": known["kind"], "metadata": {"name": NAME}}
            yield path, named | known["members"]


def check(contract: Contract, cases: int, number: int) -> Findings:
    """Sends `cases` requests, spread evenly over the operations of all documents, one document after the other."""
    findings = Findings()
    turns = [(place, operation) for place, operations in contract.documents.items() for operation in operations]
    if cases < len(turns):
        turns = _spread(contract.documents, cases, number)
    for index, (_, operation) in enumerate(turns):
        share = cases * (index + 1) // len(turns) - cases * index // len(turns)
        if share:
            contract.send(operation, share, number + index, findings)
    return findings


def _spread(documents: dict[str, list[Any]], count: int, number: int) -> list[tuple[str, Any]]:
    """Chooses `number` operations, as evenly from all documents as their numbers of operations allow."""
    chosen: list[tuple[str, Any]] = []
    rounds = max(map(len, documents.values()))
    for offset in range(rounds):
        for place, operations in documents.items():
            if offset < len(operations) and len(chosen) < count:
                chosen.append((place, operations[(number + offset * 7) % len(operations)]))
    return chosen


def main() -> int:
    """Prints the broken rules and the number of each status. Returns 1 if a rule was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the documents' places, such as apis/apps")
    options = parser.parse_args()
    with api_server() as server:
        findings = check(Contract(server, options.only), options.cases, options.seed)
    for text in findings.broken:
        print(text, end="\n\n")
    print(f"{findings.cases} cases, {len(findings.broken)} broken; statuses {dict(sorted(findings.statuses.items()))}")
    return bool(findings.broken)


if __name__ == "__main__":
    sys.exit(main())
