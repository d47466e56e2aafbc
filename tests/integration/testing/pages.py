"""A page of the documentation as somebody follows it: its fenced blocks in order, in one directory, with one shell's
variables.

What a block is, its language says:

- `sh` is run. A server that stays in the foreground goes on while the next blocks run. Lines that ELSEWHERE names are
  left out; every other one has to succeed.
- `text` right after an `sh` block is what that prints, `…` standing for anything; elsewhere it is a picture.
- any other language with `title="NAME"` becomes that file.
- `python` without a title is run, by pytest if it has tests.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from apiserver_gateway.testing import ApiServer
from storage.embedded import find_binary
from tests import plugins
from tests.clients.binaries import binary
from tests.integration.deploy.pods import running_jobs
from tests.ports import free_ports
from tests.processes import running, wait_until

ROOT = Path(__file__).parents[3]
CHECKOUT = ("Makefile", "README.md", "deploy", "docker-compose.yml", "docs", "pyproject.toml")

# Commands that no test of a page runs, why, and what does instead.
ELSEWHERE = {
    r"(\w+=\S+ )*docker ": "tests/engine, where there is a Docker engine",
    r"(pip|python3? -m (pip|venv)|apt-get|git clone|cd apiserver-gateway$|\. \.venv)\b": "sets up a machine",
    r"(pipx|uvx|sudo)\b": "sets up a machine; tests/integration/packaging and deploy try the wheel and the unit",
    r"(apiserver-gateway up -- )?cargo ": "builds for minutes; the command up is tested",
    r"helm .*\btest\b|kubectl .*\b(port-forward|rollout|https://localhost:)": "wants nodes that run pods",
    r"(kubelet|kube-proxy|kubectl certificate approve|kubeadm)\b": "tests/upstream/node",
    r"apiserver-gateway serve .*/etc/kubernetes/pki": "tests/upstream/node/test_kubeadm.py",
    r"(helm template|kubectl) .*(etcd-restore|--show-only)": "tests/integration/deploy/test_chart_members.py",
    r"kubectl --kubeconfig \./kubeconfig": "asks what Docker runs",
    r"(go install|kwok|kube-scheduler|kube-controller-manager|kubectl (logs|exec))\b": "tests/clients/test_sessions.py",
    r"make (test|conformance|nodes-tools|tools|lint|types|bench|docs|proto|catalog|etcd-wheel)\b": "this very run",
    r"python -m tests\.upstream\b": "runs tests itself",
}
_SERVER = re.compile(r"(make run|apiserver-gateway serve)\b[^|;&]*$")
_FENCE = re.compile(r"^( *)```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d{4,5}\b|(?<=localhost:)\d{4,5}\b|(?<=-port=)\d{4,5}\b")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the file that it becomes, its text, and whether it is the output of an `sh`
    block.
    """

    language: str
    title: str
    text: str
    is_output: bool

    @property
    def commands(self) -> list[str]:
        """The commands of an `sh` block: continued lines are joined, comments left out."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [bare for line in lines if (bare := re.sub(r"(^|\s+)#\s.*", "", line).strip())]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    end, before = 0, ""
    for found in _FENCE.finditer(text):
        language = found[2]
        is_output = language == "text" and before == "sh" and not text[end : found.start()].strip()
        yield Block(language, found[3] or "", re.sub(f"^{found[1]}", "", found[4], flags=re.MULTILINE), is_output)
        end, before = found.end(), language


def elsewhere(command: str) -> str:
    """Why the command is not run; "" if it is run."""
    return next((why for pattern, why in ELSEWHERE.items() if re.match(rf"\s*({pattern})", command)), "")


@dataclass
class Reader:
    """Follows a page in a checkout. Keeps PATH, the shell's variables, and the running servers."""

    home: Path
    stack: ExitStack
    ports: dict[str, str] = field(default_factory=dict)
    said: str = ""
    started: int = 0

    def __post_init__(self) -> None:
        self.directory = self.home / "checkout"  # the working directory of commands, until one changes it
        programs = self.directory / ".venv" / "bin"
        programs.mkdir(parents=True)
        for name in CHECKOUT:
            (self.directory / name).symlink_to(ROOT / name)
        script = programs / "apiserver-gateway"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{ROOT}/apiserver_gateway/__main__.py" "$@"\n')
        script.chmod(0o755)
        (programs / "python").symlink_to(sys.executable)
        (programs.parent / "server").touch()  # make must not install anything
        etcd = find_binary()
        for name in ("etcd", "etcdctl", "etcdutl"):
            if found := shutil.which(name, path=str(etcd.parent)) or shutil.which(name):
                (programs / name).symlink_to(found)
        for name in ("kubectl", "helm"):
            (programs / name).symlink_to(binary(name))
        self.programs = programs
        self.state = self.home / "state"
        self.state.write_text("")

    def environment(self) -> Mapping[str, str]:
        """The environment of every command."""
        path = os.pathsep.join((str(self.programs), f"{sys.prefix}/bin", os.environ["PATH"]))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "PYTEST_"))}
        home = {"HOME": str(self.home), "XDG_CACHE_HOME": f"{self.home}/.cache"}
        # the environment's metadata may be older than the entry point
        words = ("-p", "apiserver_gateway.testing.plugin", "-p", "no:cacheprovider", *plugins.OURS)
        plugin = {"PYTEST_ADDOPTS": " ".join(words)}
        own_port = {"APISERVER_GATEWAY_SECURE_PORT": self._here("127.0.0.1:6443").rpartition(":")[2]}
        return {**kept, **home, **plugin, **own_port, "PATH": path, "PYTHONPATH": str(ROOT)}

    def follow(self, block: Block) -> None:
        """Does what the block says. Raises AssertionError with the output if that fails."""
        match block:
            case Block(is_output=True):
                for line in filter(str.strip, block.text.splitlines()):
                    pattern = r"\s+".join(re.escape(word).replace("…", ".*") for word in line.split())
                    assert re.search(pattern, self.said), f"{line!r} is not in\n{self.said}"
            case Block(language="text"):
                pass
            case Block(title=title) if title:
                (path := self.directory / title).parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self._here(block.text))
            case Block(language="sh"):
                self._shell(block)
            case Block(language="python"):
                self._python(block.text)
            case _:
                raise AssertionError(f"what is a reader to do with a block of {block.language!r} without a title?")

    def _shell(self, block: Block) -> None:
        commands = [self._here(each) for each in block.commands if not elsewhere(each)]
        server = commands.pop() if commands and _SERVER.match(commands[-1]) else ""
        if commands:
            keep = f"declare -px | grep -v 'PATH=\\|PWD=' > {self.state}; pwd > {self.home}/where"
            self._run(["bash", "-ec", "\n".join((f"set -a -o pipefail; . {self.state}", *commands, keep))])
            self.directory = Path((self.home / "where").read_text().strip())
        if server:
            self.serve(server)

    def has_a_server(self) -> None:
        """Starts the server with which README begins."""
        self.serve("make run")
        self.state.write_text(f"export KUBECONFIG={self.directory}/.run/kubeconfig\n")

    def has_jobs_run(self) -> None:
        """Runs the Jobs of that server, as nodes of a cluster would."""
        path = self.directory / ".run" / "kubeconfig"
        config = json.loads(path.read_text())
        token, url = config["users"][0]["user"]["token"], config["clusters"][0]["cluster"]["server"]
        ca_file = self.directory / ".run" / "certificates" / "ca.crt"
        names = {"directory": self.home, "ca_file": ca_file, "kubeconfig": path, "etcd_endpoint": ""}
        server = ApiServer.attached({name: str(value) for name, value in names.items()} | {"url": url, "token": token})
        self.stack.enter_context(running_jobs(server, self.home))

    def has_an_etcd(self) -> None:
        """Runs an etcd at its default address."""
        client, peer = (self._here(f"http://127.0.0.1:{port}") for port in (2379, 2380))
        words = ["etcd", f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
        words += [f"--listen-peer-urls={peer}", f"--data-dir={self.home}/etcd"]
        self._start([str(self.programs / words[0]), *words[1:]], "ready to serve client requests")

    def serve(self, command: str) -> None:
        """Starts a server in the foreground of a shell, and waits until it is ready."""
        self._start(["bash", "-ec", f". {self.state}; exec {command}"], " ready")

    def _start(self, words: list[str], ready: str) -> None:
        self.started += 1
        log = self.directory / f"server-{self.started}.log"
        process = self.stack.enter_context(running(words, self.environment(), log))
        wait_until(lambda: ready in log.read_text(), process, log)

    def _python(self, text: str) -> None:
        if not re.search(r"def test_", text):
            return self._run([sys.executable, "-c", text])
        (self.directory / "test_page.py").write_text(text)
        self._run([sys.executable, "-m", "pytest", "-q", "test_page.py"])
        return None

    def _run(self, words: list[str]) -> None:
        done = subprocess.run(
            words,
            cwd=self.directory,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=200,
        )
        self.said = done.stdout
        assert done.returncode == 0, f"{shlex.join(words)}\nended with {done.returncode}:\n{done.stdout}"

    def _here(self, text: str) -> str:
        """Replaces ports in the text by free ports of this machine."""

        def free(found: re.Match[str]) -> str:
            if found[0] not in self.ports:
                self.ports[found[0]] = str(free_ports(1)[0])
            return self.ports[found[0]]

        return _PORT.sub(free, text)
