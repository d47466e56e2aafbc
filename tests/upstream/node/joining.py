"""Nodes of a cluster: each is a Debian tree in namespaces of its own, with containerd, a kubelet and kube-proxy."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import uuid
from pathlib import Path

from tests.upstream.node import images, programs
from tests.upstream.node.cluster import CGROUPS, HERE, Cluster, groups
from tests.upstream.node.control_plane import ADDRESS as CONTROL_PLANE
from tests.upstream.node.registry import ADDRESS as REGISTRY

VOLUMES = 6  # places for local volumes on each node


def join(made: Cluster, name: str) -> None:
    """Adds a node with the bootstrap token, and waits until it is ready. Raises AssertionError."""
    boot(made, name)
    start_kubelet(made, name)
    made.start(f"{name}-proxy", "/opt/bin/kube-proxy", "--config=/etc/kubernetes/kube-proxy.yaml", node=name)
    made.until(lambda: made.can("get", "node", name), f"{name} has joined")
    _approve(made, name)
    give_pods_a_network(made, name)
    made.kubectl("wait", "--for=condition=Ready", f"node/{name}", "--timeout=120s", seconds=150)


def boot(made: Cluster, name: str) -> None:
    """Starts a node, with containerd and the tests' images, and without a kubelet. Raises AssertionError."""
    number = len(made.nodes) + 2
    root = made.directory / name
    root.mkdir()
    with tarfile.open(programs.TREE) as archive:
        archive.extractall(root, filter="fully_trusted")
    _furnish(made, root, name, number)
    kinds = ("pid", "mount", "uts", "ipc", "net")
    words = ["unshare", "--fork", "--kill-child", *(f"--{kind}" for kind in kinds), "--propagation=private"]
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


def give_pods_a_network(made: Cluster, name: str) -> None:
    """Has pods get addresses of the node's range, and be reached from the control plane and the other nodes."""
    made.until(lambda: _range(made, name), f"{name} has addresses for pods")
    text = (HERE / "manifests" / "network.conflist").read_text().replace("CIDR", _range(made, name))
    (made.directory / name / "etc/cni/net.d/10-pods.conflist").write_text(text)
    _route(made, name, "")
    for other in made.nodes:
        if other != name:
            _route(made, name, other)
            made.until(lambda other=other: _range(made, other), f"{other} has addresses for pods")
            _route(made, other, name)


def _route(made: Cluster, to: str, at: str) -> None:
    """Sets the route to a node's pods, at another node or at the control plane ("")."""
    made.run("ip", "route", "replace", _range(made, to), "via", _address(made, to), node=at)


def _range(made: Cluster, name: str) -> str:
    """The addresses of a node's pods; "" as long as it has none."""
    return made.kubectl("get", "node", name, "-o", "jsonpath={.spec.podCIDR}")


def _address(made: Cluster, name: str) -> str:
    return f"10.89.0.{list(made.nodes).index(name) + 2}"


def start_kubelet(made: Cluster, name: str) -> None:
    """Starts a node's kubelet. At its first start it joins with the bootstrap token."""
    kubelet = ["--config=/etc/kubernetes/kubelet.yaml", "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap.kubeconfig"]
    kubelet += ["--kubeconfig=/var/lib/kubelet/kubeconfig", "--cert-dir=/var/lib/kubelet/pki"]
    kubelet += [f"--hostname-override={name}", f"--node-ip={_address(made, name)}"]
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
    made_of = ("opt/bin", "etc/kubernetes", "etc/cni/net.d", "old", "var/lib/kubelet", "var/lib/containerd")
    volumes = (f"var/lib/volumes/{volume}" for volume in range(1, VOLUMES + 1))
    for each in (*made_of, *volumes, "etc/containerd/_default"):
        (root / each).mkdir(parents=True, exist_ok=True)
    (root / "etc/containerd/_default/hosts.toml").write_text(f'server = "http://{REGISTRY}"\n')
    (root / "etc/machine-id").write_text(f"{uuid.uuid4().hex}\n")
    (root / "etc/hostname").write_text(f"{name}\n")
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost\n10.89.0.{number} {name}\n")
    (root / "etc/resolv.conf").write_text(f"nameserver {CONTROL_PLANE}\n")
    if made.keys.are_made:
        shutil.copy(made.keys.directory / "ca.crt", root / "etc/kubernetes/ca.crt")
        for client in ("proxy", "bootstrap"):
            shutil.copy(made.keys.kubeconfig(client), root / "etc/kubernetes")
    group = groups(made.directory)
    places = {"kubelet.yaml": "etc/kubernetes", "kube-proxy.yaml": "etc/kubernetes", "containerd.toml": "etc"}
    for file, place in places.items():
        text = (HERE / "manifests" / file).read_text()
        for word, value in (("NODE", name), ("GROUPS", group), ("SANDBOX", images.PAUSE)):
            text = text.replace(word, value)
        (root / place / file).write_text(text)
    for hierarchy in CGROUPS.iterdir():
        if hierarchy.is_dir():
            (hierarchy / group / name).mkdir(parents=True, exist_ok=True)
    for each in (group, f"{group}/{name}"):
        for file in ("cpuset.cpus", "cpuset.mems"):
            (CGROUPS / "cpuset" / each / file).write_text((CGROUPS / "cpuset" / file).read_text())


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
