"""Runs a tool of this package: `python -m tests.upstream NAME [ARGUMENTS]`."""

from __future__ import annotations

import sys
from importlib import import_module

TOOLS = {
    "admission_fuzz": "has two servers judge the same writes by random webhooks and policies, and compares",
    "beside": "starts a kube-apiserver beside a gateway, and runs three of these comparisons",
    "cel_server": "records what a kube-apiserver says of CRDs with rules, and of their objects",
    "cel_spec": "runs the conformance tests of cel-spec",
    "chance": "runs tests in random order while the machine is busy and servers are stopped for moments",
    "compatibility": "writes docs/reference/compatibility.md from a report of `conformance`",
    "conformance": "compares throw-away servers with recordings of a kube-apiserver",
    "control_plane": "runs kube-controller-manager and kube-scheduler against a server, and reads their logs",
    "definition_fuzz": "sends random CRDs, and objects of them, to two servers, and compares",
    "escalation": "tries at random to gain rights on two servers, and compares",
    "fake_cluster": "makes a cluster of fake nodes with kwok, and measures it",
    "hooked": "measures writes that a webhook allows, beside a kube-apiserver",
    "kube_apiserver_flags": "records which flags a kube-apiserver has",
    "kubelet_requests": "sends a kubelet's requests to two servers, and compares",
    "limited": "measures creates below a quota, beside a kube-apiserver",
    "mixin_metrics": "records which metrics kubernetes-mixin asks for",
    "mutate": "breaks rules of the server at random, and counts which of them the tests notice",
    "node": "builds what real nodes are made of, and runs tests, or Kubernetes' conformance tests, on them",
    "plugins_beside": "compares the admission plug-ins that are off by default with a kube-apiserver's",
    "protobuf_recordings": "records what a kube-apiserver answers in protobuf",
    "proxied": "measures requests that are passed on, beside a kube-apiserver",
    "published_definitions": "installs published CRDs on two servers, sends their samples, and compares",
    "storage_recordings": "records what a kube-apiserver writes to etcd",
    "tables": "records what a kube-apiserver answers as Tables, or compares",
    "upstream_metrics": "records which metrics a kube-apiserver has",
    "validation_faults": "records what a kube-apiserver says of faulty objects",
}


def main() -> int:
    """Returns the tool's exit status; 2 for an unknown name."""
    if len(sys.argv) < 2 or sys.argv[1] not in TOOLS:
        print("usage: python -m tests.upstream NAME [ARGUMENTS]\n")
        print("\n".join(f"  {name:<21} {does}" for name, does in TOOLS.items()))
        return 2
    name, *words = sys.argv[1:]
    sys.argv[0] = f"python -m tests.upstream {name}"
    module = import_module(f"tests.upstream.{name}")
    if hasattr(module, "__path__"):
        module = import_module(f"tests.upstream.{name}.__main__")
    return int(module.main(words) or 0)


if __name__ == "__main__":
    sys.exit(main())
