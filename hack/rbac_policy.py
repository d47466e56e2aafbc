#!/usr/bin/env python3
"""Writes gateway/access/rbac/bootstrap_policy.json: the roles and bindings that a kube-apiserver makes at its start.

    hack/rbac_policy.py --server https://127.0.0.1:6443 --token TOKEN

The server is one that no controller manager has worked on: aggregated roles have no rules of their own then.
"""

from __future__ import annotations

import argparse
import json
import ssl
import urllib.request
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "gateway" / "access" / "rbac" / "bootstrap_policy.json"
KINDS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
LABEL = "kubernetes.io%2Fbootstrapping%3Drbac-defaults"
_MADE_BY_SERVERS = ("uid", "resourceVersion", "creationTimestamp", "managedFields")


def main() -> None:
    """Reads the objects and writes the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--token", required=True)
    options = parser.parse_args()
    policy = {kind: read(options.server, options.token, kind) for kind in KINDS}
    kinds = [
        f'"{kind}": [\n' + ",\n".join(json.dumps(each, separators=(",", ":")) for each in found) + "\n]"
        for kind, found in policy.items()
    ]
    TARGET.write_text("{\n" + ",\n".join(kinds) + "\n}\n")


def read(server: str, token: str, kind: str) -> list[dict[str, Any]]:
    """All default objects of a kind, in the order of their names, without what a server makes up."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url = f"{server}/apis/rbac.authorization.k8s.io/v1/{kind}?labelSelector={LABEL}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=context) as answer:
        items: list[dict[str, Any]] = json.load(answer)["items"]
    for item in items:
        for name in _MADE_BY_SERVERS:
            item["metadata"].pop(name, None)
    return items


if __name__ == "__main__":
    main()
