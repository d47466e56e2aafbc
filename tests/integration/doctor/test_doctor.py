"""`doctor` with a real etcd and a real server: its findings as text and as JSON, and its exit status."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from apiserver_gateway.testing import api_server
from storage.backups.marker import marker, marker_key
from storage.embedded import EmbeddedEtcd
from storage.errors import NoSpace
from storage.etcd import EtcdClient, EtcdSettings
from tests.ports import free_ports


def doctor(directory: Path, *flags: str) -> tuple[int, dict[str, dict[str, str]]]:
    words = ["doctor", f"--cert-dir={directory}/certificates", f"--secure-port={free_ports(1)[0]}", *flags]
    command = [sys.executable, "-m", "gateway", *words, "--output=json"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert not outcome.stderr, outcome.stderr
    return outcome.returncode, {each["check"]: each for each in json.loads(outcome.stdout)}


def test_all_is_well(tmp_path: Path) -> None:
    with EmbeddedEtcd(loopback=True) as etcd:
        status, found = doctor(tmp_path, f"--etcd-servers={etcd.endpoint}")
    assert status == 0 and found["flags"]["level"] == "OK"
    assert "1 member, at revision" in found["etcd cluster"]["said"]
    assert found["etcd read"]["said"].endswith(" ms") and found["etcd write"]["said"].endswith(" ms")
    assert found["etcd content"]["said"] == "0 keys under /registry"
    assert found[f"clock of {etcd.endpoint}"]["said"] == "same as here"


async def test_it_changes_nothing_of_what_it_looks_at(
    own_etcd: EmbeddedEtcd, own_client: EtcdClient, tmp_path: Path
) -> None:
    rules = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n"
    (policy := tmp_path / "policy.yaml").write_text(rules)
    before = await own_client.revision()
    audit = (f"--audit-policy-file={policy}", f"--audit-log-path={tmp_path}/logs/audit.log")
    flags = (f"--etcd-servers={own_etcd.endpoint}", f"--kubeconfig-out={tmp_path}/new/kubeconfig", *audit)
    status, found = await asyncio.to_thread(doctor, tmp_path, *flags)
    assert status == 0 and found["flags"]["level"] == "OK", found
    assert found["etcd write"]["level"] in ("OK", "WARN")  # it warns of a slow etcd, as on a busy machine
    assert not (tmp_path / "new").exists() and not (tmp_path / "logs").exists()
    assert await own_client.revision() == before
    status, found = await asyncio.to_thread(doctor, tmp_path, *flags, f"--kubeconfig-out={tmp_path}")
    assert status == 1 and "--kubeconfig-out" in found["flags"]["said"]


def test_an_etcd_that_is_away_and_one_of_two(tmp_path: Path) -> None:
    away = f"http://127.0.0.1:{free_ports(1)[0]}"
    status, found = doctor(tmp_path, f"--etcd-servers={away}")
    assert status == 1 and found[f"etcd {away}"]["level"] == "FAIL" and found[f"etcd {away}"]["remedy"]
    with EmbeddedEtcd(loopback=True) as etcd:
        status, found = doctor(tmp_path, f"--etcd-servers={away},{etcd.endpoint}")
        assert status == 1 and found[f"etcd {away}"]["level"] == "FAIL"
        status, found = doctor(tmp_path, f"--etcd-servers={etcd.endpoint},{etcd.endpoint},{away}")
        assert status == 0 and found[f"etcd {away}"]["level"] == "WARN"


async def test_an_etcd_that_is_full(tmp_path: Path) -> None:
    with EmbeddedEtcd(arguments=["--quota-backend-bytes=4194304"]) as etcd:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), timeout=60)) as client:
            with pytest.raises(NoSpace):
                for number in range(100):
                    await client.put(f"/fill/{number}".encode(), b"x" * 1_000_000)
        status, found = doctor(tmp_path, f"--etcd-servers={etcd.endpoint}")
    assert status == 1 and "database space exceeded" in found["etcd latency"]["said"]


async def test_half_a_restore(own_etcd: EmbeddedEtcd, own_client: EtcdClient, tmp_path: Path) -> None:
    await own_client.put(marker_key("/registry"), marker("b", 1, "2026-01-02T03:04:05Z"))
    status, found = doctor(tmp_path, f"--etcd-servers={own_etcd.endpoint}")
    assert status == 1 and "are incomplete" in found["etcd content"]["said"]


def test_what_is_wrong_with_flags(tmp_path: Path) -> None:
    status, found = doctor(tmp_path, "--embedded-etcd", "--etcd-servers=http://a")
    assert status == 1 and "exclude each other" in found["flags"]["said"]
    status, found = doctor(tmp_path, "--embedded-etcd", "--controllers=nonsense")
    assert status == 1 and "there is no 'nonsense' here" in found["flags"]["said"]


def test_a_port_in_use_and_who_has_it(tmp_path: Path) -> None:
    with api_server() as server:
        status, found = doctor(tmp_path, "--embedded-etcd", "--bind-address=127.0.0.1", f"--secure-port={server.port}")
    port = found[f"port {server.port}"]
    assert status == 0 and port["level"] == "WARN" and port["said"].startswith("a Kubernetes API server uses it (v1.")


def test_what_is_printed() -> None:
    command = [sys.executable, "-m", "gateway", "doctor", "--embedded-etcd", f"--secure-port={free_ports(1)[0]}"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert outcome.returncode == 0 and outcome.stdout.startswith("OK   flags: a server can start with these flags\n")
    wrong = subprocess.run([*command, "--output=yaml"], capture_output=True, text=True, timeout=120, check=False)
    assert wrong.returncode == 1 and wrong.stderr == "apiserver-gateway: --output=yaml: give text or json\n"
