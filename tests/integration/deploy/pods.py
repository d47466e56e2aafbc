"""Runs pods' containers as a kubelet would: with commands, environment and volumes from the cluster's objects."""

from __future__ import annotations

import _thread
import json
import re
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from apiserver_gateway.testing import ApiServer, Refused, ask
from tests.clients.binaries import binary
from tests.processes import run

NOT_FOUND, CONFLICT = 404, 409
JOBS = "/apis/batch/v1/jobs?watch=true&labelSelector=app.kubernetes.io/name=apiserver-gateway"


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """Replaces each $(NAME) in the text, as Kubernetes does."""
    return re.sub(r"\$\(([A-Z_]+)\)", lambda found: environment.get(found[1], found[0]), text)


def translated(text: str, here: Mapping[str, str]) -> str:
    """Replaces paths and addresses of a container by those of this machine; the longest first."""
    pattern = "|".join(re.escape(each) for each in sorted(here, key=len, reverse=True))
    return re.sub(pattern, lambda found: here[found[0]], text) if here else text


@dataclass
class Pods:
    """The containers of a namespace's pods as processes. `here` maps the cluster's addresses and programs to local
    ones.
    """

    server: ApiServer
    namespace: str
    directory: Path
    here: dict[str, str] = field(default_factory=dict)

    def read(self, resource: str, name: str) -> Any:
        """Reads an object of the namespace: read("apps/v1/deployments", "web")."""
        group, _, plural = resource.rpartition("/")
        below = f"/apis/{group}" if "/" in group else f"/api/{group or 'v1'}"
        return ask(self.server, "GET", f"{below}/namespaces/{self.namespace}/{plural}/{name}")

    def secret(self, name: str) -> dict[str, bytes]:
        """The decoded data of a Secret."""
        return {key: b64decode(text) for key, text in self.read("secrets", name)["data"].items()}

    def process(
        self, pod: dict[str, Any], container: dict[str, Any], name: str, here: Mapping[str, str] | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """The command and the environment of a container of the pod `name`, after its volumes have been written."""
        places = {**self.here, **(here or {})}
        volumes = {volume["name"]: volume for volume in pod.get("volumes", ())}
        for mount in container["volumeMounts"]:
            volume = volumes.get(mount["name"], {})
            claim = volume.get("persistentVolumeClaim")
            where = self.directory / (claim["claimName"] if claim else f"{name}/{mount['name']}")
            self._fill(volume, where, pod)
            places[mount["mountPath"]] = str(where)
        environment = self._environment(container, {"metadata.name": name, "status.podIP": "127.0.0.1"})
        words = [*container.get("command", ()), *container.get("args", ())]
        # not translated: this Python may itself be below a place that a volume stands for, such as /tmp
        program = [] if "command" in container else [sys.executable, "-m", "gateway"]
        address = urlsplit(self.server.url)
        own = {"KUBERNETES_SERVICE_HOST": str(address.hostname), "KUBERNETES_SERVICE_PORT": str(address.port)}
        return (
            [*program, *(translated(expanded(word, environment), places) for word in words)],
            own | {name: translated(value, places) for name, value in environment.items()},
        )

    def _environment(self, container: dict[str, Any], fields: dict[str, str]) -> dict[str, str]:
        environment = {}
        for entry in container.get("env", ()):
            match entry:
                case {"value": value}:
                    environment[entry["name"]] = value
                case {"valueFrom": {"fieldRef": {"fieldPath": path}}}:
                    environment[entry["name"]] = fields[path]
                case {"valueFrom": {"secretKeyRef": reference}}:
                    environment[entry["name"]] = self.secret(reference["name"])[reference["key"]].decode()
        return environment

    def _fill(self, volume: dict[str, Any], where: Path, pod: dict[str, Any]) -> None:
        where.mkdir(parents=True, exist_ok=True)
        match volume:
            case {"secret": source}:
                held = self.secret(source["secretName"])
            case {"configMap": source}:
                held = {key: text.encode() for key, text in self.read("configmaps", source["name"])["data"].items()}
            case {"projected": source}:
                held = self._projected(source["sources"], pod)
            case _:
                return
        items = source.get("items") or [{"key": key, "path": key} for key in held]
        for item in items:
            path = where / item["path"]
            path.unlink(missing_ok=True)
            path.write_bytes(held[item["key"]])
            path.chmod(source.get("defaultMode", 0o644))

    def _projected(self, sources: list[dict[str, Any]], pod: dict[str, Any]) -> dict[str, bytes]:
        """The volume of a service account token: the token, the cluster's CA, and the namespace."""
        held = {}
        for source in sources:
            match source:
                case {"serviceAccountToken": wanted}:
                    account = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{pod['serviceAccountName']}"
                    spec = {"expirationSeconds": wanted["expirationSeconds"]}
                    answer = ask(self.server, "POST", f"{account}/token", {"spec": spec})
                    held[wanted["path"]] = answer["status"]["token"].encode()
                case {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": path}]}}:
                    held[path] = self.server.ca_file.read_bytes()
                case {"downwardAPI": {"items": [{"path": path, "fieldRef": {"fieldPath": "metadata.namespace"}}]}}:
                    held[path] = self.namespace.encode()
                case _:
                    raise AssertionError(f"no pod here gets {source}")
        return held


@contextmanager
def running_jobs(server: ApiServer, directory: Path) -> Iterator[None]:
    """Does what the Job controller and a kubelet do with each Job of the chart: runs the containers and sets the
    status.
    """
    words = [str(binary("kubectl")), f"--kubeconfig={server.kubeconfig}", "get", f"--raw={JOBS}"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as watch:
        failures: list[Exception] = []

        def follow() -> None:
            try:
                for line in watch.stdout or ():
                    if not line.endswith(b"\n"):
                        return  # the container was killed
                    event = json.loads(line)
                    if event["type"] == "ADDED" and not event["object"].get("status", {}).get("conditions"):
                        _run_job(server, event["object"], directory)
            except Exception as error:
                failures.append(error)
                _thread.interrupt_main()  # a test that waits for the Job would wait for ever

        thread = threading.Thread(target=follow, daemon=True)
        try:
            thread.start()
            yield
        except KeyboardInterrupt:
            if not failures:
                raise
            raise AssertionError("a Job could not be run") from failures[0]
        finally:
            watch.kill()
            thread.join()


def _run_job(server: ApiServer, job: dict[str, Any], directory: Path) -> None:
    namespace, name = job["metadata"]["namespace"], job["metadata"]["name"]
    pods, pod = Pods(server, namespace, directory / namespace), job["spec"]["template"]["spec"]
    started = _now()
    try:
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            run(*pods.process(pod, container, f"{name}-{job['metadata']['uid']}"), directory)
        kinds, message, counted = ("SuccessCriteriaMet", "Complete"), "", {"succeeded": 1, "completionTime": _now()}
    except Refused:
        if _is_gone(server, job):
            return  # uninstalled meanwhile, with the account or Secrets that its pods need
        raise
    except (AssertionError, subprocess.SubprocessError) as error:
        kinds, message, counted = ("FailureTarget", "Failed"), str(error), {"failed": 1}
    told = {"status": "True", "reason": "Ended", "message": message, "lastTransitionTime": _now()}
    status = {"startTime": started, "conditions": [{"type": kind, **told} for kind in kinds], **counted}
    path = _path(job)
    while True:
        try:
            found = ask(server, "GET", path)
            if _is_of(found, job):  # else another revision has deleted it meanwhile
                ask(server, "PUT", f"{path}/status", {**found, "status": status})
        except Refused as error:
            if error.status == CONFLICT:
                continue
        return


def _path(job: dict[str, Any]) -> str:
    return f"/apis/batch/v1/namespaces/{job['metadata']['namespace']}/jobs/{job['metadata']['name']}"


def _is_gone(server: ApiServer, job: dict[str, Any]) -> bool:
    try:
        return not _is_of(ask(server, "GET", _path(job)), job)
    except Refused as error:
        return error.status == NOT_FOUND


def _is_of(found: dict[str, Any], job: dict[str, Any]) -> bool:
    """Whether the Job with this name is still the same one, and is not being deleted."""
    meta = found["metadata"]
    return bool(meta["uid"] == job["metadata"]["uid"]) and "deletionTimestamp" not in meta


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
