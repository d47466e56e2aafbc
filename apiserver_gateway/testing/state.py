"""Operations that only throw-away servers allow: snapshots, users, and setting the clock forward."""

from __future__ import annotations

import base64
import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from apiserver_gateway.testing.connections import Server
from apiserver_gateway.testing.requests import Refused, ask
from apiserver_gateway.testing.waiting import wait_for

RBAC = "rbac.authorization.k8s.io"
GATHERED = 5.0  # seconds of waiting for the rules of an aggregated ClusterRole


class Place(Server, Protocol):
    """A server, or a control plane of one, with a directory for the kubeconfigs of users."""

    directory: Path
    kubeconfig: Path


@dataclass(frozen=True)
class Snapshot:
    """A saved state of all objects of a server."""

    name: str


def snapshot(server: Server) -> Snapshot:
    """Saves the present state of all objects. Raises Refused."""
    return Snapshot(ask(server, "POST", "/testing/snapshots")["name"])


def restore(server: Server, to: Snapshot) -> None:
    """Restores all objects; watches see the differences as events. Raises Refused.

    Objects get their names, uids and content back. Those that differed get new resourceVersions.
    """
    ask(server, "PUT", f"/testing/snapshots/{to.name}")


@contextlib.contextmanager
def restored(server: Server) -> Iterator[Snapshot]:
    """Undoes all changes of the block at its end."""
    before = snapshot(server)
    try:
        yield before
    finally:
        restore(server, before)
        ask(server, "DELETE", f"/testing/snapshots/{before.name}")


def save(server: Place, directory: str | Path, *resources: str, blank_secrets: bool = False) -> None:
    """Writes the objects of a server to YAML files, with their status: all of them, or those of `resources`.

    It works like `apiserver-gateway export`: without the objects that every cluster has, and without uids and other
    fields that servers set. With `blank_secrets`, the values of Secrets are blank. Raises Refused.
    """
    Path(directory).mkdir(parents=True, exist_ok=True)
    options = ("--status", *(("--blank-secrets",) if blank_secrets else ()))
    _transfer(server, "export", *resources, *options, "-o", str(directory))


def load(server: Place, *files: str | Path) -> None:
    """Creates the objects of YAML files or of directories, as `save` has written them. Raises Refused."""
    _transfer(server, "import", *map(str, files), "--status", "--force-conflicts")


def _transfer(server: Place, *words: str) -> None:
    import subprocess

    from apiserver_gateway.program import command

    __tracebackhide__ = True
    done = subprocess.run([*command(*words), "--kubeconfig", str(server.kubeconfig)], capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.returncode, done.stderr.strip())


def advance_clock(server: Server, seconds: float) -> None:
    """Sets the server's clock forward, so that a test need not wait until something expires.

    That is for events, finished Jobs with ttlSecondsAfterFinished, service account tokens and bootstrap tokens. The
    clock cannot be set back. Raises Refused.
    """
    ask(server, "POST", "/testing/clock", {"advance": seconds})


@dataclass(frozen=True)
class User:
    """A user, with credentials for clients."""

    name: str
    token: str
    kubeconfig: Path


def user(
    server: Place,
    name: str,
    *,
    groups: Sequence[str] = (),
    roles: Sequence[str] = (),
    rules: Sequence[Mapping[str, Any]] = (),
    namespace: str = "",
) -> User:
    """Makes a user with the rights of the ClusterRoles `roles` and of `rules`, in a namespace, or everywhere for "".

    `user(api, "alice", roles=["view"], namespace="default")`. Raises Refused.
    """
    token = ask(server, "POST", "/testing/users", {"name": name, "groups": list(groups)})["token"]
    _check_roles(server, roles, token)
    own = f"{name}-{uuid.uuid4().hex[:8]}"
    if rules:
        content = {"metadata": {"name": own}, "rules": [dict(rule) for rule in rules]}
        ask(server, "POST", f"/apis/{RBAC}/v1/clusterroles", content)
    for role in (*roles, *((own,) if rules else ())):
        _bind(server, name, role, namespace)
    path = server.directory / f"{own}.kubeconfig"
    path.touch(0o600)
    path.write_text(kubeconfig(server, name, token))
    return User(name, token, path)


def _check_roles(server: Server, roles: Sequence[str], token: str) -> None:
    """Raises Refused for a missing role: the server would accept a binding to it, without effect.

    Also waits until aggregated roles such as `view` have rules. On a new server, a controller has to fill them first.
    """
    __tracebackhide__ = True
    if roles:
        with contextlib.suppress(Refused):
            ask(server, "GET", "/api", token=token)  # requests of ordinary users wait for the default roles
    for path in (f"/apis/{RBAC}/v1/clusterroles/{role}" for role in roles):
        found = ask(server, "GET", path)
        if found.get("aggregationRule") and not found.get("rules"):
            with contextlib.suppress(TimeoutError):  # a server without the controller never fills it
                wait_for(server, path, lambda each: bool(each.get("rules")), GATHERED)


def _bind(server: Server, name: str, role: str, namespace: str) -> None:
    path = f"namespaces/{namespace}/rolebindings" if namespace else "clusterrolebindings"
    binding = {
        "metadata": {"generateName": f"{role}-"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": name}],
    }
    ask(server, "POST", f"/apis/{RBAC}/v1/{path}", binding)


def kubeconfig(server: Server, name: str, token: str) -> str:
    """A kubeconfig for a user of the server."""
    authority = base64.b64encode(server.ca_file.read_bytes()).decode()
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": server.url, "certificate-authority-data": authority}}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "current-context": "test",
        },
        indent=2,
    )
