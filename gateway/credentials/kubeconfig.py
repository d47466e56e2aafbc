"""Writes a kubeconfig: one cluster with its CA embedded, one user with a token, one context."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from gateway.files import replace_file
from gateway.jsontypes import JsonObject

NAME = "apiserver-gateway"


def kubeconfig(server: str, ca: bytes, token: str) -> str:
    """A kubeconfig of an administrator with a token, as JSON, which is valid YAML. `ca` is in PEM."""
    return kubeconfig_of(server, ca, "admin", {"token": token})


def certificate_of(certificate: bytes, key: bytes) -> JsonObject:
    """The `user` entry of a kubeconfig with a client certificate and its key; both are in PEM."""
    return {
        "client-certificate-data": b64encode(certificate).decode(),
        "client-key-data": b64encode(key).decode(),
    }


def kubeconfig_of(server: str, ca: bytes, name: str, credentials: JsonObject) -> str:
    """A kubeconfig, as JSON, of the user `name`. `credentials` is the `user` entry; `ca` is in PEM."""
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
    """Writes a kubeconfig file atomically, readable by its owner only. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, kubeconfig(server, ca, token).encode() + b"\n", 0o600)
