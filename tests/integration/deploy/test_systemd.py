"""deploy/systemd: systemd accepts the unit, and the server runs under some of its restrictions."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
UNIT = ROOT / "deploy" / "systemd" / "apiserver-gateway.service"
NO_NEW_CODE, REFUSE_EXEC_GAIN = 65, 1  # prctl(2): what MemoryDenyWriteExecute= asks of the kernel
MOST = 1.5  # of 10: the highest exposure level that `systemd-analyze security` may report


def analyzed(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """systemd-analyze, offline."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd-analyze here")
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, with a program that exists."""
    copy = tmp_path / UNIT.name
    copy.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", UNIT.read_text(), flags=re.MULTILINE))
    return copy


def test_systemd_understands_all_of_it(unit: Path) -> None:
    outcome = analyzed("verify", "--man=no", unit)
    assert (outcome.returncode, [line for line in outcome.stderr.splitlines() if unit.name in line]) == (0, [])
    unit.write_text(unit.read_text().replace("ProtectClock=", "ProtectClocks="))
    assert "ProtectClocks" in analyzed("verify", "--man=no", unit).stderr, "it does look"


def test_it_may_do_little(unit: Path) -> None:
    said = analyzed("security", "--offline=true", "--json=short", f"--threshold={int(MOST * 10)}", unit)
    assert said.returncode == 0, said.stdout + said.stderr
    open_ = {each["json_field"]: each["exposure"] for each in json.loads(said.stdout) if not each["set"]}
    assert max(float(exposure or 0) for exposure in open_.values()) <= 0.5


def test_it_says_when_it_is_ready_and_makes_no_code(tmp_path: Path) -> None:
    libc = ctypes.CDLL(None)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(60)
        words = [sys.executable, "-m", "apiserver_gateway", "serve", "--embedded-etcd", "--secure-port=0"]
        own = [f"--cert-dir={tmp_path}/certificates", "--bind-address=127.0.0.1"]
        environment = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}
        forbid = lambda: libc.prctl(NO_NEW_CODE, REFUSE_EXEC_GAIN, 0, 0, 0)  # noqa: E731  # in the child
        with subprocess.Popen([*words, *own], env=environment, stderr=subprocess.PIPE, preexec_fn=forbid) as server:
            try:
                assert manager.recv(64) == b"READY=1"
                server.terminate()
                assert manager.recv(64) == b"STOPPING=1"
            except BaseException:
                server.kill()
                raise
            finally:
                server.communicate(timeout=60)
    assert server.returncode == 0
