"""Commands that start a server for other tools: `up`, and the kube-apiserver of envtest."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import time
import urllib.request
from datetime import timedelta
from pathlib import Path

import pytest

from apiserver_gateway.testing import api_server
from gateway.access.signing_authority import new_request, now, read_authority
from gateway.commands.envtest import assets
from gateway.commands.kube_apiserver import translated
from gateway.credentials.certificates import Authority, issue, new_authority
from storage.embedded import EmbeddedEtcd
from tests.limits import Withheld, at_most
from tests.ports import free_ports
from tests.processes import running, wait_until

READ = "import os, json; print(json.load(open(os.environ['KUBECONFIG']))['clusters'][0]['cluster']['server'])"


def up(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway", "up", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def test_up_alone_on_a_terminal_is_a_shell(tmp_path: Path) -> None:
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\nread line; echo $line $KUBECONFIG\n")
    shell.chmod(0o755)
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "gateway", "up"]
    environment = {**os.environ, "SHELL": str(shell)}
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, env=environment, text=True) as process:
        os.write(ours, b"typed\n")
        said, _ = process.communicate(timeout=120)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0 and said.startswith("typed ") and said.endswith("/kubeconfig\n")


def test_up_runs_a_command_against_a_server() -> None:
    outcome = up("--service-cluster-ip-range=10.9.0.0/16", "--", sys.executable, "-c", READ + "; raise SystemExit(7)")
    assert outcome.returncode == 7 and outcome.stdout.startswith("https://127.0.0.1:")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--",), 1, "no command is given"),
        ((), 1, "no command is given"),
        (("--", "/no/such/program"), 127, "No such file"),
        (("--unheard-of=1", "--", "true"), 1, "unheard-of"),
    ],
)
def test_up_says_what_is_wrong(words: tuple[str, ...], status: int, said: str) -> None:
    outcome = up(*words)
    assert outcome.returncode == status and said in outcome.stderr and "Traceback" not in outcome.stderr


def test_packages_of_the_callers_directory_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gateway", "storage.instruments", "storage"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    with api_server() as server:
        assert server.url


@pytest.mark.parametrize(
    ("words", "chosen"), [(("--kubernetes-version=1.35",), ""), ((), "1.35.0"), (("1.35.0-linux-amd64",), "")]
)
def test_the_assets_of_envtest_are_of_a_minor(words: tuple[str, ...], chosen: str, tmp_path: Path) -> None:
    environment = {**os.environ, "ENVTEST_K8S_VERSION": chosen, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "gateway", "envtest-assets", *words]
    made = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    program = tmp_path / made.stdout.strip() / "kube-apiserver"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == "Kubernetes v1.35.4\n"


def test_assets_of_a_minor_that_is_not_served_are_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gateway", "envtest-assets", "--kubernetes-version=1.30", str(tmp_path)]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 1 and "give one of" in made.stderr and "Traceback" not in made.stderr


def test_flags_of_kube_apiserver() -> None:
    flags, lacking = translated(
        [
            *("--authorization-mode=RBAC,AlwaysAllow", "--secure_port", "1", "--anonymous-auth", "--allow-privileged"),
            *(
                "--service-account-issuer=a",
                "--service-account-issuer=b",
                "--runtime-config=api/all=true",
                "--peer-ca-file=ca.crt",
                "--contention-profiling",
                "--cert-dir=/nowhere",
            ),
        ]
    )
    assert set(flags) >= {"--secure-port=1", "--anonymous-auth=true", "--allow-privileged=true"}
    assert "--service-account-issuer=a,b" in flags
    assert set(lacking) == {"--peer-ca-file", "--contention-profiling"}


def test_versions_that_kube_apiserver_has_alone_are_named_and_switched_on_nowhere() -> None:
    lacking = ["resource.k8s.io/v1beta1=true", "batch/v1beta1/cronjobs=true"]
    served = ["apps/v1=false", "resource.k8s.io/v1beta2=true", "example.org/v1=true"]
    flags, named = translated([f"--runtime-config={','.join([*lacking, *served])}"])
    assert f"--runtime-config={','.join(served)}" in flags
    assert named == [f"--runtime-config={each}" for each in lacking]
    assert not any("runtime-config" in each for each in translated([f"--runtime-config={lacking[0]}"])[0])


def _client(directory: Path, authority: Authority) -> Path:
    """A client certificate with its key, as envtest makes them for its users."""
    (ca := directory / "authority.crt").write_bytes(authority.certificate)
    (ca_key := directory / "authority.key").write_bytes(authority.key)
    request, key = new_request("admin", ["system:masters"])
    usages = ("digital signature", "key encipherment", "client auth")
    pem = read_authority(ca, ca_key).sign(request, usages, timedelta(hours=1), now())
    (both := directory / "client.pem").write_bytes(pem + key)
    return both


def _user(port: int, ca: Path, certificate: Path) -> tuple[str, list[str]]:
    context = ssl.create_default_context(cafile=str(ca))
    context.load_cert_chain(certificate)
    url = f"https://127.0.0.1:{port}/apis/authentication.k8s.io/v1/selfsubjectreviews"
    request = urllib.request.Request(url, data=b"{}", headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, context=context) as answer:
        found = json.load(answer)["status"]["userInfo"]
    return found["username"], found["groups"]


def test_what_envtest_starts(tmp_path: Path) -> None:
    """With the flags of envtest, and the certificates that it puts into --cert-dir."""
    directory = assets(tmp_path / "assets")
    assert {"etcd", "kube-apiserver"} <= {each.name for each in directory.iterdir()}
    (certificates := tmp_path / "certificates").mkdir()
    authority = new_authority()
    certificate, key = issue(authority, ["127.0.0.1"])
    (certificates / "apiserver.crt").write_bytes(certificate)
    (certificates / "apiserver.key").write_bytes(key)
    signer, signer_key = issue(authority, [])
    (certificates / "sa-signer.crt").write_bytes(signer)
    (certificates / "sa-signer.key").write_bytes(signer_key)
    (certificates / "client-cert-auth-ca.crt").write_bytes(authority.certificate)
    (ca := tmp_path / "ca.crt").write_bytes(authority.certificate)
    port, log = free_ports(1)[0], tmp_path / "log"
    with EmbeddedEtcd(loopback=True) as etcd:
        command = [
            str(directory / "kube-apiserver"),
            *("--advertise-address=127.0.0.1", "--allow-privileged=true", "--authorization-mode=RBAC"),
            *("--bind-address=127.0.0.1", f"--cert-dir={certificates}", f"--etcd-servers={etcd.endpoint}"),
            f"--client-ca-file={certificates}/client-cert-auth-ca.crt",
            *("--disable-admission-plugins=ServiceAccount", f"--secure-port={port}"),
            f"--service-account-issuer=https://127.0.0.1:{port}/",
            f"--service-account-key-file={certificates}/sa-signer.crt",
            f"--service-account-signing-key-file={certificates}/sa-signer.key",
            "--service-cluster-ip-range=10.0.0.0/24",
            *("--runtime-config=api/all=true", "--contention-profiling"),
        ]
        withheld, began = Withheld(), time.monotonic()
        with running(command, {}, log) as process:
            context = ssl.create_default_context(cafile=str(ca))

            def healthy() -> bool:
                try:
                    with urllib.request.urlopen(f"https://127.0.0.1:{port}/healthz", context=context) as answer:
                        return answer.status == 200
                except OSError:
                    return False

            wait_until(healthy, process, log)
            at_most(time.monotonic() - began, 20 + withheld.until_now())  # envtest waits for that long
            assert _user(port, ca, _client(tmp_path, authority)) == (
                "admin",
                ["system:masters", "system:authenticated"],
            )
        assert "have no effect on this server: " in log.read_text()
