"""Writes a kubeconfig: one cluster with its CA embedded, one user with a token, one context."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from pathlib import Path

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
    """Writes the file, readable by its owner only; directories are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(kubeconfig(server, ca, token) + "\n")
