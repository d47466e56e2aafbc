"""The chart's custom objects (ServiceMonitor, TLSRoute and others) are valid by the CRDs of their projects, field by
field.

The CRDs are those that the projects publish, fetched as Go modules and kept in Go's cache.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver_gateway.testing import ApiServer, install
from tests.clients.binaries import binary
from tests.clients.command import Helm, Kubectl
from tests.clients.test_deploying import CHART
from tests.forked import api_server
from tests.upstream.published_definitions import PROJECTS, documents, fetched

MONITORING = "example/prometheus-operator-crd/monitoring.coreos.com_{}.yaml"
FILES = {
    PROJECTS["prometheus-operator"].module: [
        MONITORING.format(kind) for kind in ("servicemonitors", "prometheusrules")
    ],
    PROJECTS["cert-manager"].module: ["deploy/crds/cert-manager.io_certificates.yaml"],
}
ROUTES = {  # by module; the API version that the chart must use
    ("sigs.k8s.io/gateway-api@v1.5.1", "standard"): "v1",
    (PROJECTS["gateway-api"].module, "experimental"): "v1alpha3",
}
VALUES = {
    "monitoring": {"serviceMonitor": {"enabled": True, "labels": {"a": "b"}}, "rules": {"enabled": True}},
    "certificates": {
        "mode": "certManager",
        "issuerRef": {"name": "ca", "group": "cert-manager.io"},
        "names": ["api.example.org", "10.1.2.3", "fd00::1"],
    },
    "tlsRoute": {
        "enabled": True,
        "parentRefs": [{"name": "edge", "namespace": "edge", "sectionName": "tls"}],
        "hostnames": ["api.example.org"],
    },
}
GROUPS = ("monitoring.coreos.com", "cert-manager.io", "gateway.networking.k8s.io")


def definitions(module: str, *files: str) -> list[dict[str, Any]]:
    """The CRDs in a module's files. Skips the test if the module cannot be fetched."""
    if shutil.which("go") is None:
        pytest.skip("there is no Go here to fetch the definitions with")
    try:
        root = fetched(module)
    except subprocess.SubprocessError as error:
        pytest.skip(f"{module} could not be fetched: {error}")
    found = [each for file in files for each in documents(root / file)]
    return [each for each in found if each["kind"] == "CustomResourceDefinition"]


@pytest.fixture(scope="module", params=ROUTES.items(), ids=ROUTES.values())
def cluster(request: pytest.FixtureRequest) -> Iterator[tuple[ApiServer, str]]:
    """A server with the CRDs, and the version of TLSRoute that the chart must use."""
    (module, channel), version = request.param
    wanted = definitions(module, f"config/crd/{channel}/gateway.networking.k8s.io_tlsroutes.yaml")
    for other, files in FILES.items():
        wanted += definitions(other, *files)
    with api_server() as server:
        install(server, *wanted)
        yield server, version


def test_objects_of_others_kinds_are_as_their_definitions_say(cluster: tuple[ApiServer, str], tmp_path: Path) -> None:
    server, version = cluster
    helm = Helm(binary("helm"), server.kubeconfig, tmp_path, "default")
    kubectl = Kubectl(binary("kubectl"), server.kubeconfig, tmp_path, "default")
    shown = helm("install", "api", CHART, "--dry-run=server", "--no-hooks", "-o", "json", "-f", "-", given=VALUES)
    rendered = [each for each in yaml.safe_load_all(json.loads(shown)["manifest"]) if each]
    others = [each for each in rendered if each["apiVersion"].partition("/")[0] in GROUPS]
    assert sorted(each["kind"] for each in others) == ["Certificate", "PrometheusRule", "ServiceMonitor", "TLSRoute"]
    for each in others:
        kubectl("create", "--validate=strict", "-f", "-", given=each)
        misspelt = {**each, "metadata": {"name": "misspelt"}, "spec": {**each["spec"], "nothing": 1}}
        assert 'unknown field "spec.nothing"' in kubectl.run("create", "-f", "-", given=misspelt).stderr
    assert {each["apiVersion"].partition("/")[2] for each in others if each["kind"] == "TLSRoute"} == {version}
