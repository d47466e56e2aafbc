"""Admission of connections: exec, attach, portforward and proxying are CONNECT, with their options as the object.

Admission runs before the pod or service is looked up. Reading a log is not a CONNECT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request
from gateway.http.status import bad_request
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.write_context import WriteOptions
from gateway.validation.field import go_quote
from gateway.writing.admission import mutate, validate
from gateway.writing.write import begin

_HIGHEST_PORT = 65535
_MOST_DIGITS = 100  # of a port
_NO_PORT = "cannot convert to []int32: strconv.ParseUint: parsing"
_SUBPATH_AT = 3  # of the path's segments: resource, name, subresource, and then what is proxied to


async def admit_connection(endpoint: Endpoint, request: Request) -> JsonObject:
    """The options of a connection (PodExecOptions and the like), as admission leaves them. Raises StatusError.

    A connection cannot be a dry run, so any `dryRun` parameter is refused, even an empty one.
    """
    if "dryRun" in request.query:
        raise bad_request("dryRun is not supported")
    options = connect_options(endpoint.resource.kind, endpoint.resource.api_version, request)
    write = begin(endpoint, request, WriteOptions())
    admitted = await mutate(write, Operation.CONNECT, options, None, lambda: None)
    await validate(write, admitted, admitted.obj)
    return admitted.obj


def connect_options(kind: str, api_version: str, request: Request) -> JsonObject:
    """The options in the query, or in the path behind "proxy". Raises StatusError 400 for invalid ports."""
    options: JsonObject = {"kind": kind, "apiVersion": api_version}
    if kind.endswith("ProxyOptions"):
        if path := _subpath(request):
            options["path"] = path
        return options
    for name in _MEMBERS[kind]:
        found = _PARAMETERS[name](request.query.get(name, ()))
        if found:
            options[name] = found
    return options


def _subpath(request: Request) -> str:
    parts = "/".join(request.info.parts[_SUBPATH_AT:])
    path = f"/{parts}" if parts and not parts.startswith("/") else parts
    return f"{path}/" if request.path.endswith("/") and not path.endswith("/") else path


def flag(values: Sequence[str]) -> bool:
    """The value of a boolean parameter: true if it is there and its first value is not "false" or "0"."""
    return bool(values) and values[0].lower() != "false" and values[0] != "0"


def _ports(values: Sequence[str]) -> list[int]:
    found = []
    for text in (each for value in values for each in value.split(",")):
        if not (text.isascii() and text.isdigit()):
            raise bad_request(f"{_NO_PORT} {go_quote(text)}: invalid syntax")
        if len(text) > _MOST_DIGITS or int(text) > _HIGHEST_PORT:
            raise bad_request(f"{_NO_PORT} {go_quote(text)}: value out of range")
        found.append(int(text))
    return found


_STREAMS = ("stdin", "stdout", "stderr", "tty", "container")
_MEMBERS: Mapping[str, Sequence[str]] = {
    "PodExecOptions": (*_STREAMS, "command"),
    "PodAttachOptions": _STREAMS,
    "PodPortForwardOptions": ("ports",),
}
_PARAMETERS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "stdin": flag,
    "stdout": flag,
    "stderr": flag,
    "tty": flag,
    "container": lambda values: values[0] if values else "",
    "command": list,
    "ports": _ports,
}
