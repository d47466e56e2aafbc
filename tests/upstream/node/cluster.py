"""A cluster of real nodes on this project's server: a control plane and nodes that join it, in Linux namespaces.

All processes are in one PID namespace, with their own mounts and network. When its first process ends, all end, and
their mounts and links are removed. guard.sh ends it when this process has ended, and removes the cgroups.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.until import until
from tests.upstream.node import component_images, control_plane, images, programs
from tests.upstream.node.pki import Keys
from tests.upstream.node.use import Use, used

HERE = Path(__file__).parent
CGROUPS = Path("/sys/fs/cgroup")
PATIENCE = 120.0


class NoNodes(Exception):
    """This machine cannot run nodes; the message says why."""


class Cluster:
    """A running cluster, made by `cluster()`."""

    def __init__(self, directory: Path, init: int, is_real: bool = False) -> None:
        self.directory, self.init, self.is_real = directory, init, is_real
        self.keys = Keys(directory / "pki", control_plane.SERVER)
        self.admin = self.keys.kubeconfig("admin")
        self.nodes: dict[str, int] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def inside(self, words: Sequence[str], node: str = "", network_of: str = "") -> list[str]:
        """The command that runs another one in the control plane's namespaces, or in a node's, or on its network."""
        network = f"--net=/proc/{self.nodes[network_of]}/ns/net" if network_of else "--net"
        entered = ["nsenter", f"--target={self.nodes[node] if node else self.init}", "--mount", network, "--pid"]
        return [*entered, *(["--uts", "--ipc"] if node else []), "--", *words]

    def run(self, *words: str, node: str = "", network_of: str = "", given: str = "", seconds: float = PATIENCE) -> str:
        """Runs a command. Returns its output. Raises AssertionError if it fails."""
        done = subprocess.run(
            self.inside(words, node, network_of),
            input=given,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=self._environment(),
        )
        assert done.returncode == 0, f"{' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def logged(self, words: Sequence[str], log: IO[bytes], seconds: float) -> int:
        """Runs a command with its output in a file. Returns its exit status. Raises TimeoutExpired."""
        here = self.inside(words)
        done = subprocess.run(
            here, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=seconds, env=self._environment()
        )
        return done.returncode

    def kubectl(self, *words: str, given: str = "", seconds: float = PATIENCE) -> str:
        """Runs kubectl as the administrator. Returns its output. Raises AssertionError if it fails."""
        return self.run(*self.kubectl_words(*words), given=given, seconds=seconds)

    def kubectl_words(self, *words: str) -> list[str]:
        """The command line for kubectl with these arguments."""
        return [str(programs.BIN / "kubectl"), f"--kubeconfig={self.admin}", *words]

    def start(self, name: str, *words: str, node: str = "", network_of: str = "") -> None:
        """Starts a program in the background. Its output is in the log with its name."""
        with self.log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                self.inside(words, node, network_of),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(),
                start_new_session=True,
            )

    def log(self, name: str) -> Path:
        """The log of a program."""
        return self.directory / f"{name}.log"

    def until(self, check: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Repeats `check` until it is true. Raises AssertionError with the ends of all logs."""

        def told() -> str:
            logs = "\n".join(f"{each.name}: {each.read_text()[-1500:]}" for each in self.directory.glob("*.log"))
            return f"not in {seconds:.0f} s: {what}\n{logs}"

        until(check, seconds, told)

    def can(self, *words: str) -> bool:
        """Whether kubectl succeeds with some output."""
        done = subprocess.run(self.inside(self.kubectl_words(*words)), capture_output=True, env=self._environment())
        return done.returncode == 0 and bool(done.stdout.strip())

    def start_server(self) -> None:
        """Starts the API server, and waits until it is ready."""
        if self.is_real and "etcd" not in self.processes:
            self.start("etcd", *control_plane.etcd(self.directory))
        self.start("apiserver", *control_plane.server(self.keys, self.directory, is_real=self.is_real))
        self.until(lambda: self.can("get", "--raw", "/readyz"), "the API server is ready")

    def kill(self, name: str) -> None:
        """Kills a program that was started."""
        entering = self.processes.pop(name)
        for child in _children(entering.pid):
            os.kill(child, signal.SIGKILL)
        entering.wait()

    def start_controllers(self) -> None:
        """Starts kube-controller-manager and kube-scheduler. Each is restarted when it ends, as a kubelet would do."""
        for name, words in (
            ("controllers", control_plane.controllers(self.keys)),
            ("scheduler", control_plane.scheduler(self.keys)),
        ):
            self.start(name, "sh", "-c", 'while :; do "$@"; sleep 1; done', name, *words)
        self.kubectl("apply", "-f", str(HERE / "manifests" / "cluster.yaml"))

    def use(self) -> Use:
        """What the API server has used since its start, without its etcd."""
        (first,) = _children(self.processes["apiserver"].pid)
        return used(first)

    @staticmethod
    def _environment() -> dict[str, str]:
        path = os.pathsep.join((str(programs.BIN), os.environ["PATH"], "/usr/sbin:/sbin"))
        own = {"PATH": path, "PYTHONPATH": str(programs.ROOT)}
        if control_plane.ETCD_PROGRAM.is_file():  # the wheel's is of 2021
            own["APISERVER_GATEWAY_ETCD"] = str(control_plane.ETCD_PROGRAM)
        return os.environ | own


@contextmanager
def cluster(*, is_real: bool = False) -> Iterator[Cluster]:
    """A control plane without nodes; its API server is a kube-apiserver if `is_real`. Raises NoNodes.

    All is removed at the end, and also if this process is killed.
    """
    with namespaces(is_real=is_real) as made:
        made.keys.make(control_plane.NAMES)
        made.start_server()
        made.start_controllers()
        yield made


@contextmanager
def namespaces(*, is_real: bool = False) -> Iterator[Cluster]:
    """The place of a cluster, with a network for its nodes: nothing runs there yet. Raises NoNodes."""
    want()
    directory = Path(tempfile.mkdtemp(prefix="nodes-"))
    inside = ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--net", "--propagation=private", "sh", "-c"]
    first = f"mount -t proc proc /proc && ip link set lo up && echo ready && exec {programs.BIN / 'pause'}"
    outer = subprocess.Popen(
        [*inside, first],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    init = _child(outer)
    reading, writing = os.pipe()
    guard = subprocess.Popen(
        ["sh", str(HERE / "guard.sh"), str(init), groups(directory), str(directory)],
        stdin=reading,
        start_new_session=True,
    )
    os.close(reading)
    made = Cluster(directory, init, is_real)
    try:
        _link(made)
        yield made
    finally:
        os.close(writing)
        guard.wait()
        outer.wait()
        for process in made.processes.values():
            process.wait()


def groups(directory: Path) -> str:
    """The name of the control group of all nodes whose trees are in the directory."""
    return f"apiserver-gateway-{directory.name}"


def want(more: Sequence[str] = ()) -> None:
    """Raises NoNodes if the machine cannot run nodes, or if a part is not built; `more` are further missing parts."""
    if os.geteuid():
        raise NoNodes("nodes want root")
    if not (CGROUPS / "cpuset").is_dir():
        raise NoNodes("the control groups are of version 2, on which this was not tried")
    for program in ("unshare", "nsenter", "ip", "openssl"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            raise NoNodes(f"there is no {program}")
    tried = subprocess.run(["unshare", "--fork", "--pid", "--mount", "--net", "true"], capture_output=True, text=True)
    if tried.returncode:
        raise NoNodes(f"there can be no namespaces: {tried.stderr.strip()}")
    if missing := [*programs.missing(), *images.missing(), *component_images.missing(), *more]:
        raise NoNodes(f"{', '.join(missing)} not built: `python -m tests.upstream node build` builds it, once")


def _child(process: subprocess.Popen[bytes]) -> int:
    """Starts the first process of a PID namespace, and waits until its mounts and network are ready. Raises NoNodes."""
    assert process.stdout is not None
    with process.stdout as said:
        if not select.select([said], [], [], PATIENCE)[0] or said.readline() != b"ready\n":
            raise NoNodes("there can be no namespaces here")
    return _children(process.pid)[0]


def _children(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _link(made: Cluster) -> None:
    """The network between the control plane and its nodes."""
    made.run("ip", "link", "add", "nodes", "type", "bridge")
    made.run("ip", "address", "add", f"{control_plane.ADDRESS}/24", "dev", "nodes")
    made.run("ip", "link", "set", "nodes", "up")
    made.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
