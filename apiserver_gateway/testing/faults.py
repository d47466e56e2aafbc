"""Faults: errors and delays that a test orders on its own server, for certain requests and a number of times.

    with api.faults.add(verb="update", resource="configmaps", times=3, answer=conflict()) as fault:
        ...
    assert fault.hits == 3

An answer is a name, or a mapping of the name to its parameters. The functions below, with the same names, make them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from apiserver_gateway.testing.connections import AGENT, Server
from apiserver_gateway.testing.requests import ask

Answer = Mapping[str, Mapping[str, Any]]
Patterns = str | Sequence[str]

PATH = "/testing/faults"


class Fault:
    """An active fault. As a context manager it is removed at the end of the block."""

    def __init__(self, server: Server, told: Mapping[str, Any]) -> None:
        self._server, self.id, self._hits = server, str(told["id"]), int(told["hits"])
        self._removed = False

    @property
    def hits(self) -> int:
        """The number of requests, or of watches, to which it has applied."""
        if not self._removed:
            self._hits = ask(self._server, "GET", f"{PATH}/{self.id}")["hits"]
        return self._hits

    def remove(self) -> None:
        """Removes the fault; a second call does nothing. Watches go on, with the events that were held back.

        Raises Refused.
        """
        if not self._removed:
            self._hits = ask(self._server, "DELETE", f"{PATH}/{self.id}")["hits"]
            self._removed = True

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


class Faults:
    """The faults of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def add(
        self,
        *,
        answer: Answer | str,
        verb: Patterns = (),
        resource: Patterns = (),
        subresource: Patterns = (),
        group: Patterns = (),
        namespace: Patterns = (),
        name: Patterns = (),
        user: Patterns = (),
        user_agent: Patterns = (),
        webhook: Patterns = (),
        times: int | None = None,
        probability: float = 1.0,
        seed: int = 0,
    ) -> Fault:
        """Adds a fault for requests that match all patterns. It applies `times` times, or until it is removed.

        Patterns are those of a shell; one that begins with "!" excludes requests. With a `probability` below 1, random
        numbers from `seed` decide whether it applies to a request. Raises Refused.
        """
        __tracebackhide__ = True
        given = {"answer": answer, "verb": verb, "resource": resource, "subresource": subresource, "group": group}
        given |= {"namespace": namespace, "name": name, "user": user, "user_agent": user_agent, "webhook": webhook}
        asked = {key: value if isinstance(value, str | Mapping) else list(value) for key, value in given.items()}
        asked |= {"times": times, "probability": probability, "seed": seed}  # type: ignore[dict-item]  # JSON
        return self.order({key: value for key, value in asked.items() if value not in (None, [], "")})

    def order(self, asked: Mapping[str, Any]) -> Fault:
        """Adds a fault that is given as a mapping, as in a YAML file. Raises Refused."""
        __tracebackhide__ = True
        return Fault(self._server, ask(self._server, "POST", PATH, asked))

    def chaos(self, seed: int, *, intensity: float = 0.2, user_agent: Patterns = f"!{AGENT}", **concerns: Any) -> Fault:
        """Adds random faults, only such as Kubernetes allows at any time, and the same ones for the same seed.

        `intensity` is the share of the requests that get one. Requests of `ask` get none. Raises Refused.
        """
        __tracebackhide__ = True
        return self.add(answer=chaos(seed, intensity), user_agent=user_agent, **concerns)

    def clear(self) -> None:
        """Removes all faults of the server. Raises Refused."""
        ask(self._server, "DELETE", PATH)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """The active faults as mappings, as they were ordered, with `id` and `hits`."""
        return iter(ask(self._server, "GET", PATH)["faults"])


def faults_in(file: str | Path) -> list[Mapping[str, Any]]:
    """The list `faults` of a YAML file. Raises OSError, ValueError."""
    import yaml

    try:
        found = yaml.safe_load(Path(file).read_bytes())
    except yaml.YAMLError as error:
        raise ValueError(f"{file} is not valid YAML: {' '.join(str(error).split())}") from None
    faults = found.get("faults") if isinstance(found, Mapping) else None
    if not isinstance(faults, list) or not all(isinstance(each, Mapping) for each in faults):
        raise ValueError(f"{file} has no list of faults: begin it with `faults:`")
    return faults


def conflict() -> Answer:
    """409: another client has changed the object."""
    return {"conflict": {}}


def already_exists() -> Answer:
    """409: an object of that name exists."""
    return {"already_exists": {}}


def not_found() -> Answer:
    """404: no object of that name exists."""
    return {"not_found": {}}


def forbidden() -> Answer:
    """403, as if no role allowed the request."""
    return {"forbidden": {}}


def unauthorized() -> Answer:
    """401, as for an unknown token."""
    return {"unauthorized": {}}


def gone() -> Answer:
    """410: the resourceVersion or continue token is too old. A watch gets an ERROR event."""
    return {"gone": {}}


def too_many_requests(retry_after: int = 1) -> Answer:
    """429 with Retry-After, as if a priority level were full."""
    return {"too_many_requests": {"retry_after": retry_after}}


def internal_error(message: str = "a test ordered this") -> Answer:
    """500: the server failed."""
    return {"internal_error": {"message": message}}


def server_timeout(retry_after: int = 1) -> Answer:
    """500 with the reason ServerTimeout."""
    return {"server_timeout": {"retry_after": retry_after}}


def timed_out() -> Answer:
    """504; the request is not carried out."""
    return {"timed_out": {}}


def timed_out_after_write() -> Answer:
    """504, although the request is carried out; the client cannot tell the difference."""
    return {"timed_out_after_write": {}}


def unavailable(retry_after: int = 0) -> Answer:
    """503: the server cannot answer now."""
    return {"unavailable": {"retry_after": retry_after}}


def status(code: int, reason: str = "", message: str = "", retry_after: int = 0) -> Answer:
    """A Status with the given code, from 400 to 599."""
    return {"status": {"code": code, "reason": reason, "message": message, "retry_after": retry_after}}


def quota_exceeded(quota: str = "quota", requested: str = "", used: str = "", limited: str = "") -> Answer:
    """403, as if a ResourceQuota were exceeded."""
    return {"quota_exceeded": {"quota": quota, "requested": requested, "used": used, "limited": limited}}


def etcd_gone() -> Answer:
    """The answers of a server that does not reach etcd."""
    return {"etcd_gone": {}}


def latency(seconds: float) -> Answer:
    """The request waits before it is carried out. If another fault applies to it too, that follows after the wait."""
    return {"latency": {"seconds": seconds}}


def reset_before() -> Answer:
    """The connection is reset, and the request is not carried out."""
    return {"reset_before": {}}


def reset_after() -> Answer:
    """The request is carried out, and the connection is reset before the answer."""
    return {"reset_after": {}}


def stale_reads(changes: int = 0, seconds: float = 0.0) -> Answer:
    """Reads at resourceVersion=0 lack the last `changes` of the resource, and those of the last `seconds`."""
    return {"stale_reads": {"changes": changes, "seconds": seconds}}


def webhook_fails(reason: str = "context deadline exceeded") -> Answer:
    """Admission webhooks fail; the parameter `webhook` of the fault has patterns of their names."""
    return {"webhook_fails": {"reason": reason}}


def watch_ends(after: float = 0.0) -> Answer:
    """Watches end cleanly, `after` seconds after the fault or their start."""
    return {"watch_ends": {"after": after}}


def watch_silent(after: float = 0.0) -> Answer:
    """Watches stay open and send nothing until the fault is removed."""
    return {"watch_silent": {"after": after}}


def watch_gone(after: float = 0.0) -> Answer:
    """Watches get an ERROR event with status 410, and end."""
    return {"watch_gone": {"after": after}}


def watch_late(seconds: float) -> Answer:
    """Watches send each event `seconds` late."""
    return {"watch_late": {"seconds": seconds}}


def watch_reset(after: float = 0.0) -> Answer:
    """The connections of watches are reset."""
    return {"watch_reset": {"after": after}}


def bookmark_twice() -> Answer:
    """Watches with allowWatchBookmarks get a bookmark at once, and each bookmark twice."""
    return {"bookmark_twice": {}}


def chaos(seed: int, intensity: float = 0.2) -> Answer:
    """Random faults, only such as Kubernetes allows."""
    return {"chaos": {"seed": seed, "intensity": intensity}}
