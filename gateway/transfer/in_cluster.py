"""The cluster that a pod runs in, with its service account: from the token, CA and namespace files of the kubelet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gateway.access.remote import RemoteService, place_of
from gateway.files import words
from gateway.settings.configuration_file import InvalidConfiguration
from gateway.transfer.kubeconfig import NoCluster

DIRECTORY = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def own_place(directory: Path, environment: Mapping[str, str]) -> tuple[RemoteService, str]:
    """The place of the pod's cluster, and the pod's namespace. Raises NoCluster."""
    host, port = (environment.get(f"KUBERNETES_SERVICE_{name}", "") for name in ("HOST", "PORT"))
    if not (host and port):
        raise NoCluster("this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    cluster = {"server": server, "certificate-authority": "ca.crt"}
    try:
        place = place_of(directory, cluster, {"tokenFile": "token"})
        return place, (directory / "namespace").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NoCluster(f"cannot read {words(error)}") from None
    except InvalidConfiguration as error:
        raise NoCluster(str(error)) from None
