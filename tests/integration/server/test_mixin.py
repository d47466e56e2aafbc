"""The metrics of a kube-apiserver that the rules and dashboards of kubernetes-mixin use exist here.

A real Prometheus scrapes them if one is installed (Debian's package `prometheus`, which also has promtool).
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from apiserver_gateway.testing import ApiServer, api_server
from apiserver_gateway.testing.webhooks import webhook
from tests.integration.server.client import ask
from tests.ports import free_ports

METRICS = Path(__file__).with_name("kubernetes-mixin.metrics")
MAPS = "/api/v1/namespaces/default/configmaps"
SERVICE = {
    "metadata": {"name": "v1.absent.example.org"},
    "spec": {
        "group": "absent.example.org",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "service": {"namespace": "default", "name": "absent"},
        "insecureSkipTLSVerify": True,
    },
}
RULES = """\
groups:
- name: server
  interval: 1s
  rules:
  - record: verb:requests:share_of_errors
    expr: >-
      sum by (verb) (apiserver_request_total{code=~"5.."} or 0 * apiserver_request_total) /
      sum by (verb) (apiserver_request_total)
  - record: resource:seconds:p99
    expr: >-
      histogram_quantile(0.99, sum by (resource, le) (apiserver_request_sli_duration_seconds_bucket{verb=~"LIST|GET"}))
"""


def asked_for() -> list[str]:
    """The names of the metrics."""
    return [line for line in METRICS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def program(name: str) -> str:
    """The path of one of Prometheus' programs. Skips the test if it is not installed."""
    found = shutil.which(name, path=os.environ.get("PROMETHEUS_PATH", "") + os.pathsep + os.environ["PATH"])
    if found is None:
        pytest.skip(f"there is no {name} here")
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server that has served requests of all kinds."""
    with api_server("--max-requests-inflight=50") as made:
        for name in ("a", "b"):
            assert ask(made, "POST", MAPS, {"metadata": {"name": name}}).status == 201
        for path in (MAPS, f"{MAPS}/a", "/api/v1/configmaps", f"{MAPS}?watch=1&timeoutSeconds=1"):
            assert ask(made, "GET", path).status == 200
        assert ask(made, "POST", "/apis/apiregistration.k8s.io/v1/apiservices", SERVICE).status == 201
        refused = threading.Event()
        with webhook(made, lambda request: refused.wait(20) and None, "configmaps", operations=("DELETE",)):
            assert ask(made, "DELETE", f"{MAPS}/b?timeout=1s").status in (500, 504)
            refused.set()
        _ask_with_a_certificate(made, tmp_path_factory.mktemp("certificate"))
        deadline = time.monotonic() + 60
        while "aggregator_unavailable_apiservice_total" not in scrape(made):
            assert time.monotonic() < deadline
        yield made


def _ask_with_a_certificate(server: ApiServer, directory: Path) -> None:
    made = subprocess.run(
        [
            *(sys.executable, "-m", "apiserver_gateway", "kubeconfig", "--user=ada", "--group=system:masters"),
            *(f"--server={server.url}", f"--cert-dir={server.directory / 'certificates'}"),
        ],
        capture_output=True,
        check=True,
        text=True,
    )
    user = yaml.safe_load(made.stdout)["users"][0]["user"]
    for name in ("client-certificate-data", "client-key-data"):
        (directory / name).write_bytes(base64.b64decode(user[name]))
    context = ssl.create_default_context(cafile=str(server.ca_file))
    context.load_cert_chain(directory / "client-certificate-data", directory / "client-key-data")
    connection = HTTPSConnection("127.0.0.1", server.port, context=context)
    connection.request("GET", "/api/v1/namespaces")
    assert connection.getresponse().status == 200
    connection.close()


def scrape(server: ApiServer) -> str:
    return ask(server, "GET", "/metrics").body.decode()


def test_what_the_mixin_asks_for_is_told(server: ApiServer) -> None:
    told = {sample.name for family in text_string_to_metric_families(scrape(server)) for sample in family.samples}
    assert not [name for name in asked_for() if name not in told]


def test_promtool_reads_it(server: ApiServer) -> None:
    checked = subprocess.run(
        [program("promtool"), "check", "metrics"],
        input=scrape(server),
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode in (0, 3) and "error while linting" not in checked.stderr, (
        checked.stderr
    )  # 3: names alone


def test_prometheus_has_data_for_all_of_it(server: ApiServer, tmp_path: Path) -> None:
    with prometheus(server, tmp_path) as url:
        for name in asked_for():
            assert found(url, f"count({name})"), name
        shares = {
            each["metric"]["verb"]: float(each["value"][1]) for each in found(url, "verb:requests:share_of_errors")
        }
        assert shares["LIST"] == 0 and shares["DELETE"] > 0
        assert any(each["metric"]["resource"] == "configmaps" for each in found(url, "resource:seconds:p99"))


@contextmanager
def prometheus(server: ApiServer, directory: Path) -> Iterator[str]:
    """A Prometheus that scrapes the server every second. Yields its URL."""
    (port,) = free_ports(1)
    (directory / "rules.yaml").write_text(RULES)
    (directory / "prometheus.yaml").write_text(
        f"""\
global: {{scrape_interval: 1s}}
rule_files: [{directory}/rules.yaml]
scrape_configs:
- job_name: kube-apiserver
  scheme: https
  tls_config: {{ca_file: {server.ca_file}}}
  authorization: {{credentials: {server.token}}}
  static_configs: [{{targets: ["127.0.0.1:{server.port}"]}}]
"""
    )
    subprocess.run([program("promtool"), "check", "rules", directory / "rules.yaml"], check=True, capture_output=True)
    command = [
        program("prometheus"),
        f"--config.file={directory}/prometheus.yaml",
        f"--storage.tsdb.path={directory}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait(60)


def found(url: str, query: str) -> list[dict[str, Any]]:
    """The result of a query, once it is not empty."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query})}") as answer:
                series = json.load(answer)["data"]["result"]
        except OSError:
            series = []
        if series:
            return list(series)
        time.sleep(0.2)
    return []
