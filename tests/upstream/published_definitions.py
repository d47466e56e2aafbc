"""Installs the published definitions of big projects on two servers, and sends both the projects' sample objects.

    python -m tests.upstream published_definitions --peer https://127.0.0.1:6443 --peer-token tok
        [--ours URL --ours-token tok]

The projects are fetched as Go modules (needs Go) into its module cache; nothing of them is kept here. Samples are all
documents in a module, examples and test data among them, of a kind that its definitions define; each is created and
applied in a dry run. Each project's definitions go before the next one's come. The peer is a kube-apiserver, the judge.
Exit 1 if an answer differs: status, causes, or the object as it would be stored.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from apiserver_gateway.testing import api_server
from tests.upstream import PEER
from tests.upstream.definition_fuzz.servers import LEVELS, Request, Result, Side

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATIENCE = 60.0
MOST_SAMPLES = 150  # of a project
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Project:
    """A project: its Go module, and the paths of its CRDs."""

    module: str
    definitions: str


PROJECTS = {
    "cert-manager": Project("github.com/cert-manager/cert-manager@v1.21.2", "deploy/crds/*.yaml"),
    "prometheus-operator": Project(
        "github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd/*.yaml"
    ),
    "gateway-api": Project("sigs.k8s.io/gateway-api@v1.4.0", "config/crd/experimental/gateway*.yaml"),
    "cluster-api": Project("sigs.k8s.io/cluster-api@v1.14.2", "core/config/crd/bases/*.yaml"),
    "argo-cd": Project("github.com/argoproj/argo-cd/v3@v3.2.0", "manifests/crds/*-crd.yaml"),
    "knative": Project("knative.dev/serving@v0.51.0", "config/core/300-resources/*.yaml"),
    "crossplane": Project("github.com/crossplane/crossplane@v1.20.0", "cluster/crds/*.yaml"),
    "flux": Project("github.com/fluxcd/source-controller@v1.7.0", "config/crd/bases/*.yaml"),
    "karpenter": Project("sigs.k8s.io/karpenter@v1.9.0", "pkg/apis/crds/*.yaml"),
    "kueue": Project("sigs.k8s.io/kueue@v0.17.0", "config/components/crd/bases/*.yaml"),
    "external-secrets": Project("github.com/external-secrets/external-secrets@v1.3.2", "config/crds/bases/*.yaml"),
    "gatekeeper": Project("github.com/open-policy-agent/gatekeeper/v3@v3.23.1", "charts/gatekeeper/crds/*.yaml"),
}


class Loader(yaml.CSafeLoader):
    """Reads YAML as Kubernetes does: timestamps are strings."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def fetched(module: str) -> Path:
    """Fetches a module. Returns its directory. Raises subprocess.CalledProcessError."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "go.mod").write_text("module fetching\n\ngo 1.24\n")
        command = ["go", "mod", "download", "-json", module]
        done = subprocess.run(command, cwd=directory, check=True, capture_output=True, timeout=600)
    return Path(json.loads(done.stdout)["Dir"])


def documents(file: Path) -> Iterator[Json]:
    """The objects in a file; none if it is not YAML, such as a template."""
    try:
        for document in yaml.load_all(file.read_text(), Loader):
            if isinstance(document, dict) and isinstance(document.get("metadata"), dict):
                yield document
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        return


def samples(root: Path, definitions: list[Json]) -> Iterator[tuple[str, Json, Json]]:
    """The samples of a project: the path of each, the object, and its CRD."""
    known = {(each["spec"]["group"], each["spec"]["names"]["kind"]): each for each in definitions}
    told = 0
    for file in sorted(root.rglob("*.y*ml")):
        if file.stat().st_size > 200_000:
            continue
        for at, document in enumerate(documents(file)):
            group = str(document.get("apiVersion", "")).partition("/")[0]
            definition = known.get((group, document.get("kind")))
            if definition is not None and told < MOST_SAMPLES:
                told += 1
                yield f"{file.relative_to(root)}#{at}", document, definition


def requests(name: str, document: Json, definition: Json) -> Iterator[tuple[str, Request]]:
    """The requests to both servers for a sample."""
    spec, metadata = definition["spec"], dict(document["metadata"])
    place = "/namespaces/default" if spec["scope"] == "Namespaced" else ""
    metadata.pop("namespace", None)
    metadata["name"] = own = str(metadata.get("name") or "sample")
    body = {**document, "metadata": metadata}
    version = document["apiVersion"].partition("/")[2]
    path = f"/apis/{spec['group']}/{version}{place}/{spec['names']['plural']}"
    query = "dryRun=All&fieldManager=samples&fieldValidation=Warn"
    yield f"{name} create", Request("POST", f"{path}?{query}", body)
    yield f"{name} apply", Request("PATCH", f"{path}/{own}?{query}", body, "apply")


def install(sides: tuple[Side, Side], project: str, definitions: list[Json]) -> list[Result]:
    """Installs CRDs on both servers, and waits until they are served. Returns the answers."""
    results = []
    for definition in definitions:
        request = Request("POST", f"{DEFINITIONS}?fieldManager=install", definition)
        peer, ours = (side.ask(request) for side in sides)
        results.append(Result(f"{project} {definition['metadata']['name']}", request, peer, ours))
    for side in sides:
        for definition in definitions:
            spec = definition["spec"]
            served = next((each["name"] for each in spec["versions"] if each["served"]), None)
            end = time.monotonic() + PATIENCE
            path = f"/apis/{spec['group']}/{served}/{spec['names']['plural']}?limit=1"
            while served and side.ask(Request("GET", path)).status == 404 and time.monotonic() < end:
                time.sleep(0.05)
    return results


def remove(sides: tuple[Side, Side], definitions: list[Json]) -> None:
    for side in sides:
        for definition in definitions:
            side.ask(Request("DELETE", f"{DEFINITIONS}/{definition['metadata']['name']}"))


def compare(sides: tuple[Side, Side], project: str) -> list[Result]:
    """All answers for a project."""
    root = fetched(PROJECTS[project].module)
    files = sorted(root.glob(PROJECTS[project].definitions))
    definitions = [each for file in files for each in documents(file) if each["kind"] == "CustomResourceDefinition"]
    try:
        results = install(sides, project, definitions)
        for name, document, definition in samples(root, definitions):
            for what, request in requests(f"{project} {name}", document, definition):
                peer, ours = (side.ask(request) for side in sides)
                results.append(Result(what, request, peer, ours))
    finally:
        remove(sides, definitions)
    accepted = sum(result.peer.status < 300 for result in results)
    same = sum(result.level >= 3 for result in results)
    print(f"{project:20} {len(definitions)} definitions, {len(results)} answers ({accepted} accepted): {same} the same")
    return results


def main(words: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peer", required=True, help="URL of a kube-apiserver")
    parser.add_argument("--peer-token", default="tok")
    parser.add_argument("--ours", help="URL of the server under test; without it one is started")
    parser.add_argument("--ours-token", default="tok")
    parser.add_argument("--projects", default=",".join(PROJECTS))
    options = parser.parse_args(words)
    with contextlib.ExitStack() as stack:
        if options.ours is None:
            server = stack.enter_context(api_server("--disable-admission-plugins=ServiceAccount", version=PEER))
            options.ours, options.ours_token = server.url, server.token
        sides = Side(options.peer, options.peer_token), Side(options.ours, options.ours_token)
        results = [result for project in options.projects.split(",") for result in compare(sides, project)]
    for result in results:
        if result.level < len(LEVELS):
            print(f"{result.name}: {'; '.join(result.differences())}")
    return int(any(result.level < 3 for result in results))
