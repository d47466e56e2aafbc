"""kubectl logs, exec, attach, cp and port-forward with kwok's pods: through the gateway, by WebSockets and by SPDY."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.clients.command import Kubectl
from tests.clients.fake_nodes import kwok, node, pod

NODE = "fake"
SAID = "2026-01-02T03:04:05.000000000Z stdout F {}\n"
PROTOCOLS = {
    "websocket": {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "true", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "true"},
    "spdy": {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"},
}


class Greeter:
    """Answers each connection with its input in capitals. port-forward leads to its `port`.

    Connections stay open: kwok may drop what it has not passed on when this side closes.
    """

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._kept: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._kept.append(connection)
            with contextlib.suppress(OSError):  # the other side may be gone; the next connection is served all the same
                connection.sendall(connection.recv(1000).upper())

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self._kept:
            connection.close()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of all containers."""
    path = tmp_path_factory.mktemp("kwok") / "containers.log"
    path.write_text(SAID.format("first"))
    return path


@pytest.fixture(scope="module")
def greeter() -> Iterator[Greeter]:
    made = Greeter()
    yield made
    made.close()


@pytest.fixture(scope="module")
def nodes(server: ApiServer, log: Path, greeter: Greeter) -> Iterator[None]:
    sessions: dict[str, dict[str, Any]] = {
        "ClusterLogs": {"logs": [{"logsFile": str(log)}]},
        "ClusterAttach": {"attaches": [{"logsFile": str(log)}]},
        "ClusterExec": {"execs": [{"local": {"workDir": str(log.parent)}}]},
        "ClusterPortForward": {"forwards": [{"target": {"address": "127.0.0.1", "port": greeter.port}}]},
    }
    with kwok(server.kubeconfig, log.parent, "sessions", sessions):
        yield


@pytest.fixture(params=PROTOCOLS)
def running(request: pytest.FixtureRequest, nodes: None, kubectl: Kubectl) -> Kubectl:
    """kubectl with one of the protocols, in a namespace with a running pod `p`."""
    kubectl.environment.update(PROTOCOLS[request.param])
    kubectl("apply", "-f", "-", given=node(NODE, "sessions"))
    kubectl("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=120s")
    kubectl("create", "-f", "-", given=pod("p", NODE))
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=120s")
    return kubectl


@contextmanager
def saying(log: Path, text: str) -> Iterator[None]:
    """Lets the containers write a line again and again: attach shows only new output."""
    enough = threading.Event()

    def say() -> None:
        while not enough.wait(0.1):
            with log.open("a") as file:
                file.write(SAID.format(text))

    thread = threading.Thread(target=say)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def seen(process: subprocess.Popen[str], wanted: str) -> bool:
    """Whether a line comes before the process ends."""
    assert process.stdout is not None
    return any(wanted in line for line in process.stdout)


def typed(kubectl: Kubectl, text: str, wanted: str, more: str, *arguments: str) -> tuple[str, int]:
    """The output of a command on a terminal with typed input, of which some follows later output; its exit status."""
    ours, its = pty.openpty()
    line = kubectl.line(*arguments)
    process = subprocess.Popen(line, stdin=its, stdout=its, stderr=its, env=kubectl.environment, start_new_session=True)
    os.close(its)
    os.write(ours, text.encode())
    shown, waits = b"", True
    try:
        while data := os.read(ours, 4096):
            shown += data
            if waits and wanted.encode() in shown:
                waits = False
                os.write(ours, more.encode())
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    return shown.decode(errors="replace"), process.wait(60)


def test_logs_are_followed(running: Kubectl, log: Path) -> None:
    assert running("logs", "p", "--tail=1", "--limit-bytes=100").endswith("\n")
    assert running("logs", "p", "-c", "c").startswith("first\n")
    with running.running("logs", "-f", "p") as following, saying(log, f"news of {running.namespace}"):
        assert seen(following, "first")
        assert seen(following, f"news of {running.namespace}")


def test_a_command_is_run(running: Kubectl, tmp_path: Path) -> None:
    """kwok does not pass on the end of the input, and drops unsent output when the command ends. So the command ends
    after all input has come.
    """
    os.mkfifo(all_came := tmp_path / "all-came")
    echo = running.line("exec", "-i", "p", "--", "sh", "-c", f"head -c 300000; read _ <{all_came}")
    with subprocess.Popen(
        echo, env=running.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("x" * 300_000)
        process.stdin.close()
        assert process.stdout.read(300_000) == "x" * 300_000
        all_came.write_text("\n")
        assert process.wait(60) == 0 and process.stdout.read() == ""
    fails = running.line("exec", "p", "--", "sh", "-c", f"echo out; echo err >&2; read _ <{all_came}; exit 7")
    with subprocess.Popen(
        fails, env=running.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert (process.stdout.readline(), process.stderr.readline()) == ("out\n", "err\n")
        all_came.write_text("\n")
        assert "exit status 7" in process.stderr.read()  # kwok does not pass on the status, only a text
        assert process.wait(60) == 1 and process.stdout.read() == ""


def test_a_shell_is_typed_into(running: Kubectl) -> None:
    # kwok may drop unsent output when the shell ends: so it ends after the output has come
    words = "test -t 0 && echo sum $((40 + 2)); read _; exit 3\n"
    shown, _ = typed(running, words, "sum 42", "\n", "exec", "-it", "p", "--", "sh")
    assert "sum 42" in shown and "exit status 3" in shown


def test_what_is_said_is_seen_by_who_attaches(running: Kubectl, log: Path) -> None:
    with running.running("attach", "p") as attached, saying(log, f"hello {running.namespace}"):
        assert seen(attached, f"hello {running.namespace}")


def test_a_debugger_is_attached_to(running: Kubectl, log: Path) -> None:
    debugging = ("debug", "p", "--image=tools:1", "--container=debugger", "--target=c", "--attach", "--stdin")
    with running.running(*debugging) as attached, saying(log, f"debugging {running.namespace}"):
        assert seen(attached, f"debugging {running.namespace}")
    found = running.get("pod", "p")["status"]["ephemeralContainerStatuses"]
    assert [each["name"] for each in found] == ["debugger"]


def test_ports_are_forwarded(running: Kubectl) -> None:
    with running.running("port-forward", "pod/p", ":80") as forwarding:
        assert forwarding.stdout is not None
        said = forwarding.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+) -> 80", said)
        assert found, said
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", int(found[1])), 60) as connection:
                connection.sendall(b"hello")
                assert connection.recv(1000) == b"HELLO"


def test_files_are_copied_there_and_back(running: Kubectl, tmp_path: Path) -> None:
    sent, there, back = tmp_path / "sent", tmp_path / "there", tmp_path / "back"
    sent.write_bytes(os.urandom(2 << 20))
    running("cp", str(sent), f"p:{there}")
    running("cp", f"p:{there}", str(back))
    assert back.read_bytes() == sent.read_bytes()


def test_an_account_needs_create_for_sessions(running: Kubectl) -> None:
    running("create", "role", "reader", "--verb=get", "--resource=pods,pods/log,pods/exec")
    running("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={running.namespace}:reader")
    somebody = f"--as=system:serviceaccount:{running.namespace}:reader"
    assert running("logs", "p", somebody).startswith("first\n")
    refused = running.run("exec", "p", somebody, "--", "true")
    assert refused.returncode == 1
    assert 'cannot create resource "pods/exec"' in refused.stderr


def test_nodes_and_pods_without_a_kubelet_are_told_in_one_line(running: Kubectl) -> None:
    running("create", "-f", "-", given=pod("lost", "nowhere", ("a", "b")))
    for arguments, said in (
        (("logs", "lost", "-c", "a"), 'pods "nowhere" not found'),
        (("exec", "lost", "-c", "a", "--", "true"), 'pods "nowhere" not found'),
        (("exec", "lost", "-c", "x", "--", "true"), "container x is not valid for pod lost"),
    ):
        done = running.run(*arguments)
        assert done.returncode == 1 and said in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) <= 2
