"""A cluster of real nodes on this project's server: a control plane and nodes that join it, in Linux namespaces.

All processes are in one PID namespace, with their own mounts and network. When its first process ends, all end, and
their mounts and links are removed. guard.sh ends it when this process has ended, and removes the cgroups.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.until import until
from tests.upstream.node import images, programs
from tests.upstream.node.pki import Keys

HERE = Path(__file__).parent
GROUPS = "apiserver-gateway-nodes"  # the cgroup of all nodes
CONTROL_PLANE = "10.89.0.1"
SERVER = f"https://{CONTROL_PLANE}:6443"
CGROUPS = Path("/sys/fs/cgroup")
PATIENCE = 120.0
_NAMES = ["DNS:localhost", "DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc"]
_NAMES += ["DNS:kubernetes.default.svc.cluster.local", "IP:127.0.0.1", f"IP:{CONTROL_PLANE}", "IP:10.96.0.1"]


class NoNodes(Exception):
    """This machine cannot run nodes; the message says why."""


class Cluster:
    """A running cluster, made by `cluster()`."""

    def __init__(self, directory: Path, init: int) -> None:
        self.directory, self.init = directory, init
        self.keys = Keys(directory / "pki", SERVER)
        self.nodes: dict[str, int] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def inside(self, words: Sequence[str], node: str = "") -> list[str]:
        """The command that runs another one in the control plane's namespaces, or in a node's."""
        entered = ["nsenter", f"--target={self.nodes[node] if node else self.init}", "--mount", "--net", "--pid"]
        return [*entered, *(["--uts", "--ipc"] if node else []), "--", *words]

    def run(self, *words: str, node: str = "", given: str = "", seconds: float = PATIENCE) -> str:
        """Runs a command. Returns its output. Raises AssertionError if it fails."""
        done = subprocess.run(
            self.inside(words, node),
            input=given,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=self._environment(),
        )
        assert done.returncode == 0, f"{' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def kubectl(self, *words: str, given: str = "", seconds: float = PATIENCE) -> str:
        """Runs kubectl as the administrator. Returns its output. Raises AssertionError if it fails."""
        return self.run(*self.kubectl_words(*words), given=given, seconds=seconds)

    def kubectl_words(self, *words: str) -> list[str]:
        """The command line for kubectl with these arguments."""
        return [str(programs.BIN / "kubectl"), f"--kubeconfig={self.keys.kubeconfig('admin')}", *words]

    def start(self, name: str, *words: str, node: str = "") -> None:
        """Starts a program in the background. Its output is in the log with its name."""
        with self.log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                self.inside(words, node),
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
        pki = self.keys.directory
        flags = {
            "embedded-etcd": "true",
            "data-dir": self.directory / "etcd",
            "cert-dir": self.directory / "certificates",
            "controllers": "-*",
            "bind-address": "0.0.0.0",
            "advertise-address": CONTROL_PLANE,
            "service-cluster-ip-range": "10.96.0.0/16",
            "allow-privileged": "true",
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            "enable-bootstrap-token-auth": "true",
            "client-ca-file": pki / "ca.crt",
            "tls-cert-file": pki / "apiserver.crt",
            "tls-private-key-file": pki / "apiserver.key",
            "kubelet-client-certificate": pki / "kubelet-client.crt",
            "kubelet-client-key": pki / "kubelet-client.key",
            "kubelet-certificate-authority": pki / "ca.crt",
            "kubelet-preferred-address-types": "InternalIP",
            "requestheader-client-ca-file": pki / "front-ca.crt",
            "requestheader-allowed-names": "front-proxy-client",
            "requestheader-username-headers": "X-Remote-User",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "proxy-client-cert-file": pki / "front-proxy-client.crt",
            "proxy-client-key-file": pki / "front-proxy-client.key",
            "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
            "service-account-key-file": pki / "service-accounts.pub",
            "service-account-signing-key-file": pki / "service-accounts.key",
        }
        program = [sys.executable, "-m", "apiserver_gateway", "serve", "--secure-port=6443"]
        self.start("apiserver", *program, *(f"--{name}={value}" for name, value in flags.items()))
        self.until(lambda: self.can("get", "--raw", "/readyz"), "the API server is ready")

    def kill(self, name: str) -> None:
        """Kills a program that was started."""
        entering = self.processes.pop(name)
        for child in _children(entering.pid):
            os.kill(child, signal.SIGKILL)
        entering.wait()

    def start_controllers(self) -> None:
        """Starts kube-controller-manager and kube-scheduler. Each is restarted when it ends, as a kubelet would do."""
        pki = self.keys.directory
        for name, program in (("controllers", "kube-controller-manager"), ("scheduler", "kube-scheduler")):
            config = self.keys.kubeconfig(name)
            kinds = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
            words = [str(programs.BIN / program), *(f"--{kind}={config}" for kind in kinds)]
            if name == "controllers":
                words += [
                    "--use-service-account-credentials",
                    "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
                    f"--cluster-signing-cert-file={pki / 'ca.crt'}",
                    f"--cluster-signing-key-file={pki / 'ca.key'}",
                    f"--root-ca-file={pki / 'ca.crt'}",
                    f"--client-ca-file={pki / 'ca.crt'}",
                    f"--requestheader-client-ca-file={pki / 'front-ca.crt'}",
                    f"--service-account-private-key-file={pki / 'service-accounts.key'}",
                    "--allocate-node-cidrs",
                    "--cluster-cidr=10.244.0.0/16",
                    "--service-cluster-ip-range=10.96.0.0/16",
                ]
            self.start(name, "sh", "-c", 'while :; do "$@"; sleep 1; done', name, *words)
        self.kubectl("apply", "-f", str(HERE / "manifests" / "cluster.yaml"))

    @staticmethod
    def _environment() -> dict[str, str]:
        path = os.pathsep.join((str(programs.BIN), os.environ["PATH"], "/usr/sbin:/sbin"))
        return {**os.environ, "PATH": path, "PYTHONPATH": str(programs.ROOT)}


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A control plane without nodes. Raises NoNodes. All is removed at the end, and also if this process is killed."""
    with ExitStack() as stack:
        want()
        lock = stack.enter_context((programs.PLACE / "lock").open("w"))
        fcntl.flock(lock, fcntl.LOCK_EX)
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
            ["sh", str(HERE / "guard.sh"), str(init), GROUPS, str(directory)], stdin=reading, start_new_session=True
        )
        os.close(reading)
        try:
            made = Cluster(directory, init)
            made.keys.make(_NAMES)
            _link(made)
            made.start_server()
            made.start_controllers()
            yield made
        finally:
            os.close(writing)
            guard.wait()
            outer.wait()
            for process in made.processes.values():
                process.wait()


def want() -> None:
    """Raises NoNodes if the machine cannot run nodes, or if a part is not built."""
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
    if missing := [*programs.missing(), *([] if images.ARCHIVE.is_file() else ["images"])]:
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
    made.run("ip", "address", "add", f"{CONTROL_PLANE}/24", "dev", "nodes")
    made.run("ip", "link", "set", "nodes", "up")


def join(made: Cluster, name: str) -> None:
    """Adds a node with the bootstrap token, and waits until it is ready. Raises AssertionError."""
    number = len(made.nodes) + 2
    root = made.directory / name
    root.mkdir()
    with tarfile.open(programs.TREE) as archive:
        archive.extractall(root, filter="fully_trusted")
    _furnish(made, root, name, number)
    words = [
        "unshare",
        "--fork",
        "--kill-child",
        "--pid",
        "--mount",
        "--uts",
        "--ipc",
        "--net",
        "--propagation=private",
    ]
    words += ["sh", str(HERE / "node.sh"), str(root), str(programs.BIN), name]
    with made.log(name).open("ab") as log:
        outer = subprocess.Popen(
            made.inside(words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    made.processes[name] = outer
    made.until(lambda: _first(root), f"{name} has a first process")
    made.nodes[name] = _first(root)
    _connect(made, name, number)
    made.start(f"{name}-containerd", "/opt/bin/containerd", "--config=/etc/containerd.toml", node=name)
    made.until(lambda: _answers(made, name), "containerd answers")
    with images.ARCHIVE.open("rb") as archive_file:
        words = made.inside(["/opt/bin/ctr", "-n", "k8s.io", "images", "import", "-"], name)
        subprocess.run(words, stdin=archive_file, check=True, capture_output=True)
    start_kubelet(made, name)
    made.start(f"{name}-proxy", "/opt/bin/kube-proxy", "--config=/etc/kubernetes/kube-proxy.yaml", node=name)
    made.until(lambda: made.can("get", "node", name), f"{name} has joined")
    _approve(made, name)
    made.until(
        lambda: made.can("get", "node", name, "-o", "jsonpath={.spec.podCIDR}"), f"{name} has addresses for pods"
    )
    cidr = made.kubectl("get", "node", name, "-o", "jsonpath={.spec.podCIDR}")
    text = (HERE / "manifests" / "network.conflist").read_text().replace("CIDR", cidr)
    (root / "etc/cni/net.d/10-pods.conflist").write_text(text)
    made.run("ip", "route", "add", cidr, "via", f"10.89.0.{number}")
    made.kubectl("wait", "--for=condition=Ready", f"node/{name}", "--timeout=120s", seconds=150)


def start_kubelet(made: Cluster, name: str) -> None:
    """Starts a node's kubelet. At its first start it joins with the bootstrap token."""
    number = list(made.nodes).index(name) + 2
    kubelet = ["--config=/etc/kubernetes/kubelet.yaml", "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap.kubeconfig"]
    kubelet += ["--kubeconfig=/var/lib/kubelet/kubeconfig", "--cert-dir=/var/lib/kubelet/pki"]
    kubelet += [f"--hostname-override={name}", f"--node-ip=10.89.0.{number}"]
    made.start(f"{name}-kubelet", "/opt/bin/kubelet", *kubelet, node=name)


def _first(root: Path) -> int:
    """The process id, on this machine, of the process with a tree as its root; 0 if there is none yet."""
    marked = root / "etc" / "hostname"
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (place / "comm").read_text() == "pause\n" and (place / "root/etc/hostname").samefile(marked):
                return int(place.name)
        except OSError:
            continue
    return 0


def _furnish(made: Cluster, root: Path, name: str, number: int) -> None:
    """Writes a node's configuration into its tree, and creates its cgroups."""
    for each in ("opt/bin", "etc/kubernetes", "etc/cni/net.d", "old", "var/lib/kubelet", "var/lib/containerd"):
        (root / each).mkdir(parents=True, exist_ok=True)
    (root / "etc/machine-id").write_text(f"{uuid.uuid4().hex}\n")
    (root / "etc/hostname").write_text(f"{name}\n")
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost\n10.89.0.{number} {name}\n")
    (root / "etc/resolv.conf").write_text(f"nameserver {CONTROL_PLANE}\n")
    shutil.copy(made.keys.directory / "ca.crt", root / "etc/kubernetes/ca.crt")
    for client in ("proxy", "bootstrap"):
        shutil.copy(made.keys.kubeconfig(client), root / "etc/kubernetes")
    places = {"kubelet.yaml": "etc/kubernetes", "kube-proxy.yaml": "etc/kubernetes", "containerd.toml": "etc"}
    for file, place in places.items():
        text = (HERE / "manifests" / file).read_text()
        for word, value in (("NODE", name), ("GROUPS", GROUPS), ("SANDBOX", images.PAUSE)):
            text = text.replace(word, value)
        (root / place / file).write_text(text)
    for hierarchy in CGROUPS.iterdir():
        if hierarchy.is_dir():
            (hierarchy / GROUPS / name).mkdir(parents=True, exist_ok=True)
    for group in (GROUPS, f"{GROUPS}/{name}"):
        for file in ("cpuset.cpus", "cpuset.mems"):
            (CGROUPS / "cpuset" / group / file).write_text((CGROUPS / "cpuset" / file).read_text())


def _connect(made: Cluster, name: str, number: int) -> None:
    link = f"to-{name}"
    made.run("ip", "link", "set", "lo", "up", node=name)
    namespace = f"/proc/{made.nodes[name]}/ns/net"
    words = ["nsenter", f"--target={made.init}", "--net", "ip", "link", "add", link, "type", "veth"]
    subprocess.run([*words, "peer", "name", "eth0", "netns", namespace], check=True, capture_output=True)
    made.run("ip", "link", "set", link, "master", "nodes", "up")
    made.run("ip", "address", "add", f"10.89.0.{number}/24", "dev", "eth0", node=name)
    made.run("ip", "link", "set", "eth0", "up", node=name)
    made.run("ip", "route", "add", "default", "via", CONTROL_PLANE, node=name)
    made.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward", node=name)


def _answers(made: Cluster, name: str) -> bool:
    return subprocess.run(made.inside(["/opt/bin/ctr", "version"], name), capture_output=True).returncode == 0


def _approve(made: Cluster, name: str) -> None:
    """Approves the request for the kubelet's serving certificate: no controller approves it."""
    wanted = (
        '{range .items[?(@.spec.signerName=="kubernetes.io/kubelet-serving")]}{.metadata.name} {.spec.username}\n{end}'
    )

    def requested() -> list[str]:
        lines = made.kubectl("get", "csr", "-o", f"jsonpath={wanted}").splitlines()
        return [line.split()[0] for line in lines if line.endswith(f" system:node:{name}")]

    made.until(requested, f"{name} asks for a certificate")
    made.kubectl("certificate", "approve", *requested())
