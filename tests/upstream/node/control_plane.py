"""The command lines of a control plane: of this project's server or a kube-apiserver, of controllers and scheduler."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.engine.tools import CACHE, ETCD
from tests.upstream.node import programs
from tests.upstream.node.pki import Keys

ADDRESS = "10.89.0.1"
SERVER = f"https://{ADDRESS}:6443"
NAMES = ["DNS:localhost", "DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc"]
NAMES += ["DNS:kubernetes.default.svc.cluster.local", "IP:127.0.0.1", f"IP:{ADDRESS}", "IP:10.96.0.1"]
KUBE_APISERVER = CACHE / f"kubernetes-{programs.KUBERNETES}" / "kube-apiserver"
ETCD_PROGRAM = CACHE / f"etcd-{ETCD}" / "etcd"
_ETCD_URL = "http://127.0.0.1:2379"


def server(keys: Keys, directory: Path, *, is_real: bool = False) -> list[str]:
    """The command line of the API server; both get the same flags."""
    minor = programs.KUBERNETES.rpartition(".")[0]
    if is_real:
        own = {"etcd-servers": _ETCD_URL}
        words = [str(KUBE_APISERVER)]
    else:
        own = {"embedded-etcd": "true", "data-dir": str(directory / "etcd"), "controllers": "-*"}
        own |= {"kubernetes-version": minor}
        words = [sys.executable, "-m", "apiserver_gateway", "serve"]
    flags = {**own, **_flags(keys.directory), "cert-dir": directory / "certificates"}
    return [*words, *(f"--{name}={value}" for name, value in flags.items())]


def etcd(directory: Path) -> list[str]:
    """The command line of kube-apiserver's etcd."""
    return [str(ETCD_PROGRAM), f"--data-dir={directory / 'etcd'}", "--log-level=warn"]


def missing() -> list[str]:
    """The programs that a control plane with kube-apiserver lacks: `make tools` builds them."""
    return [each.name for each in (KUBE_APISERVER, ETCD_PROGRAM) if not each.is_file()]


def _flags(pki: Path) -> Mapping[str, object]:
    return {
        "secure-port": "6443",
        "bind-address": "0.0.0.0",
        "advertise-address": ADDRESS,
        "service-cluster-ip-range": "10.96.0.0/16",
        "enable-aggregator-routing": "true",  # no kube-proxy is beside the server
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


def controllers(keys: Keys) -> list[str]:
    """The command line of kube-controller-manager."""
    pki = keys.directory
    return [
        *_component("kube-controller-manager", keys.kubeconfig("controllers")),
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


def scheduler(keys: Keys) -> list[str]:
    """The command line of kube-scheduler."""
    return _component("kube-scheduler", keys.kubeconfig("scheduler"))


def _component(program: str, config: Path) -> list[str]:
    kinds = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    return [str(programs.BIN / program), *(f"--{kind}={config}" for kind in kinds)]
