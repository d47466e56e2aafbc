"""A server that cannot start prints the reason in one line and exits with 1. A restarted server keeps its identity."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
from datetime import timedelta
from itertools import takewhile
from pathlib import Path
from typing import IO

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.credentials.certificates import keep_authority, new_authority
from storage.embedded import BINARY_VARIABLE, EmbeddedEtcd
from tests.hasty import program
from tests.integration.etcd.guarding import certificate, enable_users
from tests.integration.server.client import ask
from tests.integration.server.test_logs import BUSY

SERVE = [sys.executable, "-m", "gateway", "serve", "--bind-address=127.0.0.1", "--secure-port=0"]


def after_the_first(said: str) -> list[str]:
    """The lines of a log, without the first one, and without those that a busy machine adds."""
    others = (" info gateway: starting ", *BUSY)
    return [line for line in said.splitlines() if not any(each in line for each in others)]


def refusal(*flags: str, **environment: str) -> str:
    """The message of a server that does not start: exactly one line after the first line of the log."""
    refused = subprocess.run(
        [*SERVE, *flags], capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environment}
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    lines = after_the_first(refused.stderr)
    assert len(lines) == 1, refused.stderr
    assert lines[0].startswith("apiserver-gateway: ")
    return lines[0].removeprefix("apiserver-gateway: ")


def test_flags_that_cannot_be() -> None:
    assert "--bogus" in refusal("--bogus")
    assert refusal("--embedded-etcd", "--secure-port=99999").startswith("--secure-port=99999: ")
    assert refusal("--embedded-etcd", "--kubeconfig-out=/").startswith("--kubeconfig-out: ")


def test_directories_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    flags = "--embedded-etcd", f"--cert-dir={tmp_path}/certificates"
    assert "data directory" in refusal(*flags, f"--data-dir={tmp_path}/file")
    assert refusal("--embedded-etcd", f"--cert-dir={tmp_path}/file").startswith("--cert-dir: ")


def test_an_etcd_that_does_not_start(tmp_path: Path) -> None:
    flags = "--embedded-etcd", f"--cert-dir={tmp_path}"
    assert "/no/such/etcd" in refusal(*flags, **{BINARY_VARIABLE: "/no/such/etcd"})
    assert "/bin/false did not start" in refusal(*flags, **{BINARY_VARIABLE: "/bin/false"})


def test_a_data_directory_and_a_port_in_use(tmp_path: Path) -> None:
    flags = f"--data-dir={tmp_path}/data", "--workers=2"
    server = ApiServer(tmp_path, flags)
    server.start()
    try:
        used = refusal("--embedded-etcd", f"--cert-dir={tmp_path}/certificates", *flags)
        assert used == f"the embedded etcd did not start: the data directory {tmp_path}/data is in use by " + (
            f"process {server.pid}"
        )
        flags = f"--secure-port={server.port}", "--workers=2", f"--cert-dir={tmp_path}/certificates"
        assert "Address already in use" in refusal(*flags, "--etcd-servers=http://127.0.0.1:1")
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_user_that_etcd_refuses(tmp_path: Path, workers: str) -> None:
    """And the server does not replace workers for it."""
    with EmbeddedEtcd(loopback=True) as etcd:
        enable_users(etcd)
        flags = f"--etcd-servers={etcd.endpoint}", f"--cert-dir={tmp_path}", f"--workers={workers}"
        command = [*SERVE, *flags, "--etcd-username=root", "--etcd-password=wrong"]
        refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert refused.returncode == 1
    lines = after_the_first(refused.stderr)
    lines = [line for line in lines if "stopping" not in line]  # messages of the other processes when they stop
    assert len(lines) <= int(workers) and "invalid user ID or password" in lines[0]


def test_an_etcd_whose_certificate_is_not_trusted(tmp_path: Path) -> None:
    for name in ("ca", "stranger"):
        certificate(tmp_path, name, name)
    files = [f"--cert-file={tmp_path}/ca.pem", f"--key-file={tmp_path}/ca.key"]
    with EmbeddedEtcd(arguments=files, loopback=True) as etcd:
        flags = f"--etcd-servers={etcd.endpoint}", f"--etcd-cafile={tmp_path}/stranger.pem"
        assert "is not trusted" in refusal(*flags, f"--cert-dir={tmp_path}/certificates")


def test_a_certificate_that_is_good_for_an_hour_is_spoken_of(tmp_path: Path) -> None:
    certificate(tmp_path, "own", "own")
    pair = f"--tls-cert-file={tmp_path}/own.pem", f"--tls-private-key-file={tmp_path}/own.key"
    command = [*SERVE, "--embedded-etcd", f"--cert-dir={tmp_path}/certificates", *pair]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = next(line for line in server.stderr if "--tls-cert-file" in line)
        finally:
            server.terminate()
        assert " warning " in said and "it is valid until" in said and "replace the file" in said


def test_a_ca_that_has_expired_is_spoken_of_once(tmp_path: Path) -> None:
    """By the process that starts the workers, and by none of these."""
    keep_authority(tmp_path, new_authority(timedelta(seconds=-1)))
    command = [*SERVE, "--embedded-etcd", f"--cert-dir={tmp_path}", "--workers=2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = list(takewhile(lambda line: " ready " not in line, server.stderr))
        finally:
            server.terminate()
        said += server.stderr.readlines()
    warned = [line for line in said if "set the clock right" in line]
    assert len(warned) == 1 and " warning " in warned[0] and "has been over since" in warned[0], said


def test_a_server_that_waits_for_etcd_says_why_and_can_be_stopped(tmp_path: Path) -> None:
    hasty = program({"gateway.launch.patient.LOG_INTERVAL": 0.5})
    command = [*hasty, "serve", "--etcd-servers=http://127.0.0.1:1", f"--cert-dir={tmp_path}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            assert any("waiting for etcd" in line and "onnect" in line for line in server.stderr), "gRPC's reason"
        finally:
            server.terminate()
        said = server.stderr.read().splitlines()
        assert said[-1] == "apiserver-gateway: stopped while waiting for etcd"
        assert "Traceback" not in "".join(said) and server.wait(60) == 1


def test_a_start_that_is_interrupted_says_nothing() -> None:
    code = (
        "import signal, apiserver_gateway.__main__ as program\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # the shell of the tests may ignore it
        "program._run = lambda: signal.raise_signal(signal.SIGINT)\n"
        "program.main()"
    )
    interrupted = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (interrupted.returncode, interrupted.stdout, interrupted.stderr) == (130, b"", b"")


def test_an_identity_outlives_restarts(tmp_path: Path) -> None:
    flags = f"--data-dir={tmp_path}/data", "--kubeconfig-server=https://api.example.org", "--tls-san=api.example.org"
    first = ApiServer(tmp_path, flags)
    first.start()
    copied, ca = first.kubeconfig.read_text(), first.ca_file.read_bytes()
    first.stop()
    first.kubeconfig.chmod(0o644)
    again = ApiServer(tmp_path, (*flags, "--advertise-address=localhost"))
    again.start()
    try:
        assert (again.token, again.kubeconfig.read_text(), again.ca_file.read_bytes()) == (first.token, copied, ca)
        assert stat.S_IMODE(again.kubeconfig.stat().st_mode) == 0o600
        assert json.loads(copied)["clusters"][0]["cluster"]["server"] == "https://api.example.org"
        assert ask(again, "GET", "/api/v1/namespaces/default").status == 200
    finally:
        again.stop()


def test_replicas_that_share_nothing_but_etcd_have_one_identity(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef\n")
    with EmbeddedEtcd() as etcd:
        replicas = [
            ApiServer(tmp_path / name, [f"--identity-key-file={secret}"], etcd.endpoint) for name in ("one", "two")
        ]
        for replica in replicas:
            replica.directory.mkdir()
            replica.start()
        try:
            one, two = replicas
            assert one.token == two.token and one.ca_file.read_bytes() == two.ca_file.read_bytes()
            assert ask(two, "GET", "/api/v1/namespaces", token=one.token).status == 200
            keys = [(each.directory / "certificates" / "service-account.key").read_bytes() for each in replicas]
            assert keys[0] == keys[1]
        finally:
            for replica in replicas:
                replica.stop()
        secret.write_text("another secret of some length")
        flags = f"--etcd-servers={etcd.endpoint}", f"--cert-dir={tmp_path}/three", f"--identity-key-file={secret}"
        assert "encrypted with another secret" in refusal(*flags)


def gone(process: int) -> bool:
    return bool(select.select([process], [], [], 60)[0])


def test_a_throw_away_directory_goes_with_a_killed_parent() -> None:
    script = (
        "import time; from apiserver_gateway.testing import api_server\n"
        "with api_server() as server: print(server.pid, server.directory, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid, directory = _words(starter.stdout)
        server = os.pidfd_open(int(pid))
        assert Path(directory).exists()
        starter.send_signal(signal.SIGKILL)
        assert gone(server), "the server is still there"
        assert not Path(directory).exists()


def _words(output: IO[str]) -> list[str]:
    return output.readline().split()
