"""Deleted CRDs leave nothing in memory, even without garbage collection.

Objects in reference cycles would stay until a full collection, which is rare.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.endpoints.table import LINGER
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, definition, establish, version
from tests.integration.server.client import ask, connect
from tests.until import until

COUNTING = """
import gc, json, sys
from collections import Counter
from pathlib import Path
from gateway.discovery.discovery import Discovery
from gateway.commands.cli import main

respond, counts = Discovery.respond, Path(sys.argv.pop(1))

def count():
    found = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    counts.write_text(json.dumps(found))

def counted(*given):
    if given[1].path == "/version":
        count()
    return respond(*given)

Discovery.respond = counted
gc.disable()
sys.exit(main(sys.argv[1:]))
"""
TURNS = 3  # the first turn also loads what all turns share
MOST = 5  # objects that are made once, at any time, are not made in each turn
LASTING = ("gateway.", "builtins.function", "builtins.cell")
# caches by request or path with their own bounds
BOUNDED = (
    "gateway.flowcontrol.configuration.Flow",
    "gateway.requests.routes.Route",
    "gateway.http.request_info.RequestInfo",
    "gateway.requests.measures.Measures",
    "gateway.quotas.evaluator.Evaluator",
)
APPLY = {"Content-Type": "application/apply-patch+yaml"}
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
RULES = [
    {
        "rule": "self.all(name, name.startsWith('n') || name == '' || size(name) > 3)",
        "messageExpression": "'no ' + self[0]",
    }
]
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"]}
PORT = {"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"}, "text": {"type": "string"}}}
SPEC = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "maxItems": 5, "items": {"type": "string"}, "x-kubernetes-validations": RULES},
        "size": {"type": "integer", "default": 1, "minimum": 0},
        "text": {"type": "string", "pattern": "^a+$", "format": "hostname"},
        "either": {"x-kubernetes-int-or-string": True, "not": {"enum": ["neither"]}},
        "ports": {"type": "array", "items": PORT, **KEYED},
        "texts": {"type": "object", "additionalProperties": {"type": "string", "default": "a"}},
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object"}},
        },
    },
}


class CountingServer(ApiServer):
    """A server that counts its Python objects when /version is requested."""

    @property
    def counts(self) -> Path:
        return self.kubeconfig.with_name("counts")

    def _command(self, control: int) -> list[str]:
        python, _, _, *arguments = super()._command(control)
        return [python, "-c", COUNTING, str(self.counts), *arguments]


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[CountingServer]:
    server = CountingServer(tmp_path)
    server.start()
    yield server
    server.stop()


def use(server: ApiServer, group: str) -> None:
    """Creates a CRD with two versions, and sends the usual requests for an object of it."""
    of_both = {"spec": SPEC, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    below = {"status": {}, "scale": scale}
    versions = [version(name, of_both, subresources=below, storage=name == "v1") for name in ("v1", "v2")]
    establish(server, definition(group, *versions))
    path = f"/apis/{group}/v2/namespaces/default/widgets"
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}}
    spec = {"names": ["n"], "ports": [{"port": 1}], "either": 1, "texts": {"one": "b"}, "template": template}
    body = {"apiVersion": f"{group}/v2", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}
    assert ask(server, "POST", path, body).status == 201
    assert ask(server, "PATCH", f"{path}/w?fieldManager=a&force=true", body, headers=APPLY).status == 200
    assert ask(server, "PATCH", f"{path}/w/status", {"status": {"ready": True}}, headers=MERGE).status == 200
    assert ask(server, "PATCH", f"{path}/w/scale", {"spec": {"replicas": 3}}, headers=MERGE).status == 200
    for wrong in ({"text": "b"}, {"names": ["b"]}, {"either": "neither"}, {"ports": [{"port": 1}, {"port": 1}]}):
        assert ask(server, "PATCH", f"{path}/w", {"spec": wrong}, headers=MERGE).status == 422
    assert ask(server, "POST", f"{path}?fieldValidation=Strict", {**body, "more": 1}).status == 400
    assert ask(server, "GET", path, headers=TABLE).status == 200
    assert ask(server, "GET", f"/openapi/v3/apis/{group}/v2").status == 200
    connection = connect(server)
    connection.request("GET", f"{path}?watch=1", headers={"Authorization": f"Bearer {server.token}"})
    assert b"ADDED" in connection.getresponse().readline()
    connection.close()


def end(server: ApiServer, group: str) -> None:
    name = f"widgets.{group}"
    assert ask(server, "DELETE", f"{DEFINITIONS}/{name}").status == 200
    until(lambda: ask(server, "GET", f"{DEFINITIONS}/{name}").status == 404)
    until(lambda: ask(server, "GET", f"/apis/{group}").status == 404)


def count(server: CountingServer) -> dict[str, int]:
    """The number of objects of each type that could stay."""
    for path in ("/openapi/v3", "/apis", "/version"):
        assert ask(server, "GET", path).status == 200
    found: dict[str, int] = json.loads(server.counts.read_text())
    return {name: number for name, number in found.items() if name.startswith(LASTING) and name not in BOUNDED}


def test_definitions_leave_nothing_behind(counting: CountingServer) -> None:
    counts = list[dict[str, int]]()
    for turn in range(MOST):
        group = f"g{turn}.example.com"
        use(counting, group)
        end(counting, group)
        time.sleep(LINGER + 0.5)  # until watches end
        counts.append(count(counting))
        if turn + 1 >= TURNS and not (more := _left(counting, counts)):
            return
    pytest.fail(f"each leaves something behind: {more}")


def _left(server: CountingServer, counts: list[dict[str, int]]) -> dict[str, int]:
    """The difference to the turn before. It is counted again while there is one, since watches may end later."""
    deadline = time.monotonic() + 40
    while (more := _more(counts[-2], counts[-1])) and time.monotonic() < deadline:
        time.sleep(0.5)
        counts[-1] = count(server)
    return more


def _more(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: number - before.get(name, 0) for name, number in after.items() if number > before.get(name, 0)}
