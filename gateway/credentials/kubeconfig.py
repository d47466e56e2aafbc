"""Writes a kubeconfig: one cluster with its CA embedded, one user with a token, one context."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from gateway.files import replace_file
from gateway.jsontypes import JsonObject

NAME = "apiserver-gateway"


def kubeconfig(server: str, ca: bytes, token: str) -> str:
    """A kubeconfig as JSON, which every reader of YAML takes, of an administrator with a token. `ca` is PEM."""
    return kubeconfig_of(server, ca, "admin", {"token": token})


def certificate_of(certificate: bytes, key: bytes) -> JsonObject:
    """What a kubeconfig says of a user with a client certificate; both are PEM."""
    return {
        "client-certificate-data": b64encode(certificate).decode(),
        "client-key-data": b64encode(key).decode(),
    }


def kubeconfig_of(server: str, ca: bytes, name: str, credentials: JsonObject) -> str:
    """A kubeconfig of a user with some credentials."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": NAME, "cluster": {"server": server, "certificate-authority-data": b64encode(ca).decode()}}
            ],
            "users": [{"name": name, "user": credentials}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": name, "namespace": "default"}}],
            "current-context": NAME,
        },
        indent=2,
    )


def write_kubeconfig(path: Path, server: str, ca: bytes, token: str) -> None:
    """Writes the file in one step, readable by its owner only. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, kubeconfig(server, ca, token).encode() + b"\n", 0o600)
