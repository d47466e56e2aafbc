"""Writes a kubeconfig: one cluster with its CA embedded, one user with a token, one context."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from gateway.files import replace_file

NAME = "apiserver-gateway"


def kubeconfig(server: str, ca: bytes, token: str) -> str:
    """A kubeconfig as JSON, which every reader of YAML takes. `ca` is PEM."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": NAME, "cluster": {"server": server, "certificate-authority-data": b64encode(ca).decode()}}
            ],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": "admin", "namespace": "default"}}],
            "current-context": NAME,
        },
        indent=2,
    )


def write_kubeconfig(path: Path, server: str, ca: bytes, token: str) -> None:
    """Writes the file in one step, readable by its owner only. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, kubeconfig(server, ca, token).encode() + b"\n", 0o600)
