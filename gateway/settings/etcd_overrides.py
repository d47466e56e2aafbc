"""--etcd-servers-overrides: resources that are stored in another etcd (apiserver's `pkg/server/options`)."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.settings.flag_values import endpoints

_FORMAT = "invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated"


@dataclass(frozen=True, slots=True)
class EtcdOverride:
    """A resource (the core group is "") and the endpoints of its etcd."""

    group: str
    resource: str
    servers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.group}/{self.resource}#{';'.join(self.servers)}"


def etcd_overrides(text: str) -> tuple[EtcdOverride, ...]:
    """Parses the overrides of a flag's text. Raises ValueError with kube-apiserver's message."""
    return tuple(_override(each.strip()) for each in text.split(",") if each.strip())


def _override(text: str) -> EtcdOverride:
    place, hashes, servers = text.partition("#")
    names = place.split("/")
    if not hashes or "#" in servers or len(names) != 2 or not all(servers.split(";")):
        raise ValueError(_FORMAT)
    return EtcdOverride(names[0], names[1], endpoints(servers.replace(";", ",")))
