"""Finds the cluster of a kubeconfig, in kubectl's order: --kubeconfig, else KUBECONFIG, else ~/.kube/config."""

from __future__ import annotations

import json
import os
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.access.remote import RemoteService, named, place_of
from gateway.files import words
from gateway.jsontypes import JsonObject
from gateway.settings.configuration_file import InvalidConfiguration, load_yaml

_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_LISTS = ("clusters", "contexts", "users")
_EXEC = "ExecCredential"
TIMEOUT = 60.0


class NoCluster(Exception):
    """No usable cluster was found; the message says why."""


def find_place(given: Path | None, context: str, environment: Mapping[str, str]) -> RemoteService:
    """The cluster and user of `context`, or of the current context. Raises NoCluster."""
    paths = [given] if given else _usual(environment)
    config = _merged([path for path in paths if given or path.is_file()])
    said = ", ".join(map(str, paths))
    try:
        found = named(config, "contexts", "context", context or config.get("current-context") or "")
        cluster = named(config, "clusters", "cluster", found.get("cluster") or "")
        user = named(config, "users", "user", found["user"]) if found.get("user") else {}
        if "exec" in user:
            user = {**user, **_of_plugin(user["exec"], environment)}
        return place_of(Path(), cluster, user)
    except (InvalidConfiguration, OSError, ValueError) as error:
        raise NoCluster(f"{said}: {words(error) if isinstance(error, OSError) else error}") from None


def _usual(environment: Mapping[str, str]) -> list[Path]:
    named_there = [Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    return named_there or [Path.home() / ".kube" / "config"]


def _merged(paths: list[Path]) -> JsonObject:
    """Merges several kubeconfigs. If a name occurs twice, the first entry counts."""
    if not paths:
        raise NoCluster("no kubeconfig was found: give one with --kubeconfig or KUBECONFIG")
    merged: JsonObject = {name: [] for name in _LISTS}
    for path in paths:
        try:
            config = load_yaml(path.read_bytes())
        except OSError as error:
            raise NoCluster(f"cannot read {words(error, path)}") from None
        except InvalidConfiguration as error:
            raise NoCluster(f"{path}: {error}") from None
        if not isinstance(config, dict):
            raise NoCluster(f"{path}: it is not a kubeconfig")
        merged["current-context"] = merged.get("current-context") or config.get("current-context")
        for name in _LISTS:
            merged[name] += [_located(each, path.parent) for each in config.get(name) or () if isinstance(each, dict)]
    return merged


def _located(entry: JsonObject, directory: Path) -> JsonObject:
    """The entry with paths relative to the working directory, instead of to its kubeconfig's directory."""
    return {
        name: {key: str(directory / str(part)) if key in _FILES and part else part for key, part in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in entry.items()
    }


def _of_plugin(said: Any, environment: Mapping[str, str]) -> JsonObject:
    """The credentials that a program prints ("client-go credential plugins"). Raises InvalidConfiguration, OSError."""
    if not isinstance(said, dict) or not said.get("command"):
        raise InvalidConfiguration("its exec has no command; give the path of the program that prints the credentials")
    version = str(said.get("apiVersion") or "client.authentication.k8s.io/v1")
    asked = {"apiVersion": version, "kind": _EXEC, "spec": {"interactive": False}}
    more = {str(each["name"]): str(each["value"]) for each in said.get("env") or ()}
    command = [str(said["command"]), *map(str, said.get("args") or ())]
    try:
        outcome = subprocess.run(
            command,
            env={**environment, **more, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
            capture_output=True,
            timeout=TIMEOUT,
            check=True,
        )
        status = json.loads(outcome.stdout)["status"]
    except subprocess.SubprocessError as error:
        raise InvalidConfiguration(f"{command[0]} gave no credentials: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise InvalidConfiguration(f"{command[0]} printed no {_EXEC}") from None
    encoded = {"client-certificate-data": "clientCertificateData", "client-key-data": "clientKeyData"}

    found = {name: b64encode(status[key].encode()).decode() for name, key in encoded.items() if status.get(key)}
    return found | ({"token": status["token"]} if status.get("token") else {})
