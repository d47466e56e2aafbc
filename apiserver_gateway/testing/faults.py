"""Faults on order: what goes wrong, for whom and how often, on a server that is a test's own.

    with api.faults.add(verb="update", resource="configmaps", times=3, answer=conflict()) as fault:
        ...
    assert fault.hits == 3

An answer is its name, or a mapping of the name to its parameters; functions of the same names make them.
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
    """A fault that is in force. As a context manager it is removed at the end of the block."""

    def __init__(self, server: Server, told: Mapping[str, Any]) -> None:
        self._server, self.id, self._hits = server, str(told["id"]), int(told["hits"])
        self._removed = False

    @property
    def hits(self) -> int:
        """How many requests it has met; of watches, how many watches."""
        if not self._removed:
            self._hits = ask(self._server, "GET", f"{PATH}/{self.id}")["hits"]
        return self._hits

    def remove(self) -> None:
        """Ends it; does nothing the second time. Watches go on, with what was held back. Raises Refused."""
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
        """Adds a fault for requests to come: those that all patterns fit, `times` of them, or until it is removed.

        A pattern is as in a shell; one that begins with "!" is of what is spared. With a `probability` it is drawn,
        from a `seed`, whether a request is met. Raises Refused.
        """
        __tracebackhide__ = True
        given = {"answer": answer, "verb": verb, "resource": resource, "subresource": subresource, "group": group}
        given |= {"namespace": namespace, "name": name, "user": user, "user_agent": user_agent, "webhook": webhook}
        asked = {key: value if isinstance(value, str | Mapping) else list(value) for key, value in given.items()}
        asked |= {"times": times, "probability": probability, "seed": seed}  # type: ignore[dict-item]  # JSON
        return self.order({key: value for key, value in asked.items() if value not in (None, [], "")})

    def order(self, asked: Mapping[str, Any]) -> Fault:
        """Adds a fault that is a mapping, as in a YAML file. Raises Refused."""
        __tracebackhide__ = True
        return Fault(self._server, ask(self._server, "POST", PATH, asked))

    def chaos(self, seed: int, *, intensity: float = 0.2, user_agent: Patterns = f"!{AGENT}", **concerns: Any) -> Fault:
        """Faults at random that Kubernetes allows at any time, the same ones for a seed; what `ask` does is spared.

        `intensity` is the part of the requests that are met. Raises Refused.
        """
        __tracebackhide__ = True
        return self.add(answer=chaos(seed, intensity), user_agent=user_agent, **concerns)

    def clear(self) -> None:
        """Removes all faults of the server. Raises Refused."""
        ask(self._server, "DELETE", PATH)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Those that are in force, as they were ordered, with `id` and `hits`."""
        return iter(ask(self._server, "GET", PATH)["faults"])


def faults_in(file: str | Path) -> list[Mapping[str, Any]]:
    """The faults that a YAML file has under `faults`. Raises OSError, ValueError."""
    import yaml

    try:
        found = yaml.safe_load(Path(file).read_bytes())
    except yaml.YAMLError as error:
        raise ValueError(f"{file} is no YAML: {' '.join(str(error).split())}") from None
    faults = found.get("faults") if isinstance(found, Mapping) else None
    if not isinstance(faults, list) or not all(isinstance(each, Mapping) for each in faults):
        raise ValueError(f"{file} has no list of faults: begin it with `faults:`")
    return faults


def conflict() -> Answer:
    """409: somebody else has changed the object."""
    return {"conflict": {}}


def already_exists() -> Answer:
    """409: an object of that name is there."""
    return {"already_exists": {}}


def not_found() -> Answer:
    """404: there is no object of that name."""
    return {"not_found": {}}


def forbidden() -> Answer:
    """403, as where no role allows it."""
    return {"forbidden": {}}


def unauthorized() -> Answer:
    """401, as for a token that is not known any more."""
    return {"unauthorized": {}}


def gone() -> Answer:
    """410: what was asked for is too old; a watch is told so by an event."""
    return {"gone": {}}


def too_many_requests(retry_after: int = 1) -> Answer:
    """429 with Retry-After, as where a priority level is full."""
    return {"too_many_requests": {"retry_after": retry_after}}


def internal_error(message: str = "a test ordered this") -> Answer:
    """500: the server failed."""
    return {"internal_error": {"message": message}}


def server_timeout(retry_after: int = 1) -> Answer:
    """500 with the reason ServerTimeout."""
    return {"server_timeout": {"retry_after": retry_after}}


def timed_out() -> Answer:
    """504 before anything is done."""
    return {"timed_out": {}}


def timed_out_after_write() -> Answer:
    """504, although the request is carried out: the client cannot know."""
    return {"timed_out_after_write": {}}


def unavailable(retry_after: int = 0) -> Answer:
    """503: the server cannot answer now."""
    return {"unavailable": {"retry_after": retry_after}}


def status(code: int, reason: str = "", message: str = "", retry_after: int = 0) -> Answer:
    """Any Status."""
    return {"status": {"code": code, "reason": reason, "message": message, "retry_after": retry_after}}


def quota_exceeded(quota: str = "quota", requested: str = "", used: str = "", limited: str = "") -> Answer:
    """403, as where a ResourceQuota has no room."""
    return {"quota_exceeded": {"quota": quota, "requested": requested, "used": used, "limited": limited}}


def etcd_gone() -> Answer:
    """What the server answers while it does not reach etcd."""
    return {"etcd_gone": {}}


def latency(seconds: float) -> Answer:
    """The request waits, and is carried out then; another fault that meets it comes after that."""
    return {"latency": {"seconds": seconds}}


def reset_before() -> Answer:
    """The connection is reset, and the request is not carried out."""
    return {"reset_before": {}}


def reset_after() -> Answer:
    """The request is carried out, and the connection is reset before the answer."""
    return {"reset_after": {}}


def stale_reads(changes: int = 0, seconds: float = 0.0) -> Answer:
    """Reads at resourceVersion=0 lack the last `changes` of the resource, or those of the last `seconds`."""
    return {"stale_reads": {"changes": changes, "seconds": seconds}}


def webhook_fails(reason: str = "context deadline exceeded") -> Answer:
    """An admission webhook fails; `webhook` of the fault says which one."""
    return {"webhook_fails": {"reason": reason}}


def watch_ends(after: float = 0.0) -> Answer:
    """Watches end, so many seconds after the fault or their beginning."""
    return {"watch_ends": {"after": after}}


def watch_silent(after: float = 0.0) -> Answer:
    """Watches stay open and say nothing until the fault is removed."""
    return {"watch_silent": {"after": after}}


def watch_gone(after: float = 0.0) -> Answer:
    """Watches lose their place: an ERROR event of 410, and the end."""
    return {"watch_gone": {"after": after}}


def watch_late(seconds: float) -> Answer:
    """Watches send each event so many seconds late."""
    return {"watch_late": {"seconds": seconds}}


def watch_reset(after: float = 0.0) -> Answer:
    """Watches break off."""
    return {"watch_reset": {"after": after}}


def bookmark_twice() -> Answer:
    """Watches that take bookmarks get one at once, and each of them twice."""
    return {"bookmark_twice": {}}


def chaos(seed: int, intensity: float = 0.2) -> Answer:
    """Faults at random that Kubernetes allows."""
    return {"chaos": {"seed": seed, "intensity": intensity}}
