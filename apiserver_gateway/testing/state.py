"""What tests do to a throw-away server that nobody may do to another: snapshots, users, time that passes at once."""

from __future__ import annotations

import base64
import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apiserver_gateway.testing.requests import Refused, ask
from apiserver_gateway.testing.server import ApiServer
from apiserver_gateway.testing.waiting import wait_for

RBAC = "rbac.authorization.k8s.io"
GATHERED = 5.0  # seconds that a role waits for its rules


@dataclass(frozen=True)
class Snapshot:
    """The whole state of a server as it once was."""

    name: str


def snapshot(server: ApiServer) -> Snapshot:
    """Keeps the whole state as it is now. Raises Refused."""
    return Snapshot(ask(server, "POST", "/testing/snapshots")["name"])


def restore(server: ApiServer, to: Snapshot) -> None:
    """Makes the whole state what it was; watches see the difference as events. Raises Refused.

    Objects have their names, uids and content again, and new resourceVersions where they differed.
    """
    ask(server, "PUT", f"/testing/snapshots/{to.name}")


@contextlib.contextmanager
def restored(server: ApiServer) -> Iterator[Snapshot]:
    """Whatever the block changes is undone at its end."""
    before = snapshot(server)
    try:
        yield before
    finally:
        restore(server, before)
        ask(server, "DELETE", f"/testing/snapshots/{before.name}")


def save(server: ApiServer, directory: str | Path, *resources: str, blank_secrets: bool = False) -> None:
    """Writes the objects of a server to YAML files, with their status: all of them, or those of some resources.

    As `apiserver-gateway export` does: without what every cluster has, uids and the like. With `blank_secrets`, of
    secrets only the keys. Raises Refused with what could not be read.
    """
    Path(directory).mkdir(parents=True, exist_ok=True)
    options = ("--status", *(("--blank-secrets",) if blank_secrets else ()))
    _transfer(server, "export", *resources, *options, "-o", str(directory))


def load(server: ApiServer, *files: str | Path) -> None:
    """Makes the objects of YAML files, or of directories of them, as `save` wrote them. Raises Refused."""
    _transfer(server, "import", *map(str, files), "--status", "--force-conflicts")


def _transfer(server: ApiServer, *words: str) -> None:
    import subprocess

    from apiserver_gateway.program import command

    __tracebackhide__ = True
    done = subprocess.run([*command(*words), "--kubeconfig", str(server.kubeconfig)], capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.returncode, done.stderr.strip())


def advance_clock(server: ApiServer, seconds: float) -> None:
    """Sets the server's clock forward for what ends by itself, without waiting for it.

    That is events, finished Jobs with ttlSecondsAfterFinished, tokens of service accounts, bootstrap tokens. It can't
    be set back. Raises Refused.
    """
    ask(server, "POST", "/testing/clock", {"advance": seconds})


@dataclass(frozen=True)
class User:
    """A user and what a client needs to be it."""

    name: str
    token: str
    kubeconfig: Path


def user(
    server: ApiServer,
    name: str,
    *,
    groups: Sequence[str] = (),
    roles: Sequence[str] = (),
    rules: Sequence[Mapping[str, Any]] = (),
    namespace: str = "",
) -> User:
    """A user who may do what the ClusterRoles `roles` say, and `rules`: in a namespace, or everywhere without one.

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


def _check_roles(server: ApiServer, roles: Sequence[str], token: str) -> None:
    """Raises Refused where there is no such role: a binding would be taken, and give nothing.

    Roles such as `view` gather their rules from others; on a server that has just started a controller is about to.
    """
    __tracebackhide__ = True
    if roles:
        with contextlib.suppress(Refused):
            ask(server, "GET", "/api", token=token)  # whoever is no administrator waits for the default roles
    for path in (f"/apis/{RBAC}/v1/clusterroles/{role}" for role in roles):
        found = ask(server, "GET", path)
        if found.get("aggregationRule") and not found.get("rules"):
            with contextlib.suppress(TimeoutError):  # it stays so without the controller
                wait_for(server, path, lambda each: bool(each.get("rules")), GATHERED)


def _bind(server: ApiServer, name: str, role: str, namespace: str) -> None:
    path = f"namespaces/{namespace}/rolebindings" if namespace else "clusterrolebindings"
    binding = {
        "metadata": {"generateName": f"{role}-"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": name}],
    }
    ask(server, "POST", f"/apis/{RBAC}/v1/{path}", binding)


def kubeconfig(server: ApiServer, name: str, token: str) -> str:
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
