"""A kube-apiserver that is measured beside the gateway: started, stopped, killed and started again on the same port."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

TOKEN = "peer"
_PATIENCE = 120.0  # seconds until it is ready


class Measured(Protocol):
    """A measured server: the gateway's `ApiServer`, or a `KubeApiserver`."""

    url: str
    token: str

    @property
    def pid(self) -> int:
        """Its process id."""

    def start(self) -> None:
        """Starts it, and returns when it is ready."""

    def stop(self) -> int:
        """Stops it by SIGTERM. Returns its exit status."""

    def kill(self) -> int:
        """Stops it by SIGKILL. Returns its exit status."""


class KubeApiserver:
    """A kube-apiserver on an etcd; `directory` is for its certificates, keys and log."""

    def __init__(self, program: Path, directory: Path, etcd: str, flags: Sequence[str] = ()) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url, self.token = f"https://127.0.0.1:{port}", TOKEN
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        key, tokens = directory / "sa.key", directory / "tokens.csv"
        making = ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(key)]
        subprocess.run(making, check=True, capture_output=True)
        tokens.write_text(f"{TOKEN},admin,1,system:masters\n", encoding="ascii")
        self._command = [
            str(program), f"--etcd-servers={etcd}", f"--secure-port={port}", "--bind-address=127.0.0.1",
            f"--cert-dir={directory / 'certificates'}", f"--token-auth-file={tokens}", "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24", f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}", "--service-account-issuer=https://peer",
            "--disable-admission-plugins=ServiceAccount", *flags,
        ]  # fmt: skip

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None, "not running"
        return self._process.pid

    def start(self) -> None:
        """Starts it, and returns when it is ready. Raises TimeoutError."""
        with (self._directory / "apiserver.log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT)
        context, ends = ssl._create_unverified_context(), time.monotonic() + _PATIENCE
        request = urllib.request.Request(f"{self.url}/readyz", headers={"Authorization": f"Bearer {TOKEN}"})
        while True:
            try:
                urllib.request.urlopen(request, timeout=30, context=context).close()
                return
            except OSError:  # as is an answer of 500
                if time.monotonic() > ends or self._process.poll() is not None:
                    self.kill()
                    raise TimeoutError(f"no kube-apiserver: {self._directory / 'apiserver.log'}") from None
                time.sleep(0.05)

    def stop(self) -> int:
        """Stops it by SIGTERM. Returns its exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """Stops it by SIGKILL. Returns its exit status."""
        return self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(how)
        try:
            return process.wait(90)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


@contextmanager
def kube_apiserver(program: Path, directory: Path, etcd: str, flags: Sequence[str] = ()) -> Iterator[KubeApiserver]:
    """A running kube-apiserver, until the block ends. Raises TimeoutError."""
    server = KubeApiserver(program, directory, etcd, flags)
    try:
        server.start()
        yield server
    finally:
        server.stop()
