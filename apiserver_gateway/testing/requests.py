"""What tests do with a server without a client of their own: requests, namespaces, waiting."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apiserver_gateway.testing.server import ApiServer

# A frame with `__tracebackhide__` is left out by pytest: what a test sees is its own line.

PATIENCE = 30.0


class Refused(Exception):
    """The server's answer was an error; `status` is its code, the message its own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


def _opened(server: ApiServer, method: str, path: str, body: Mapping[str, Any] | None, timeout: float) -> Any:
    import ssl  # here and below: pytest imports this module whether a test needs it or not
    import urllib.error
    import urllib.request

    __tracebackhide__ = True
    request = urllib.request.Request(server.url + path, method=method, data=None if body is None else _json(body))
    request.add_header("Authorization", f"Bearer {server.token}")
    request.add_header("Content-Type", "application/json")
    context = ssl.create_default_context(cafile=str(server.ca_file))
    try:
        return urllib.request.urlopen(request, timeout=timeout, context=context)
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        with contextlib.suppress(ValueError, KeyError, TypeError):
            text = json.loads(text)["message"]
        raise Refused(error.code, f"{method} {path}: {text}") from None


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


def ask(server: ApiServer, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """The server's answer to an administrator: `ask(api, "GET", "/api/v1/namespaces")`. Raises Refused."""
    __tracebackhide__ = True
    with _opened(server, method, path, body, PATIENCE) as answer:
        return json.load(answer)


@contextlib.contextmanager
def namespace(server: ApiServer, prefix: str = "test") -> Iterator[str]:
    """The name of a new namespace, which is deleted at the end of the block."""
    name = f"{prefix}-{uuid.uuid4().hex[:10]}"
    ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    try:
        yield name
    finally:
        with contextlib.suppress(Refused):
            ask(server, "DELETE", f"/api/v1/namespaces/{name}")


def condition(kind: str, status: str = "True") -> Callable[[Mapping[str, Any]], bool]:
    """Whether an object has that condition: `wait_for(api, path, condition("Available"))`."""

    def holds(found: Mapping[str, Any]) -> bool:
        conditions = (found.get("status") or {}).get("conditions") or ()
        return any((each["type"], each["status"]) == (kind, status) for each in conditions)

    return holds


def wait_for(
    server: ApiServer, path: str, holds: Callable[[Mapping[str, Any]], bool], timeout: float = PATIENCE
) -> dict[str, Any]:
    """The first state of the object at `path` for which `holds`, its present one included; it need not be there yet.

    It watches, and does not poll. Raises TimeoutError, with the last state seen.
    """
    from urllib.parse import urlencode

    __tracebackhide__ = True
    collection, _, name = path.rpartition("/")
    query = {"fieldSelector": f"metadata.name={name}"}
    listed = ask(server, "GET", f"{collection}?{urlencode(query)}")
    last: dict[str, Any] | None = None
    for last in listed["items"]:
        if holds(last):
            return last
    version = listed["metadata"]["resourceVersion"]
    query |= {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(max(1, round(timeout)))}
    watching = f"{collection}?{urlencode(query)}"
    with contextlib.suppress(TimeoutError), _opened(server, "GET", watching, None, timeout + 2) as events:
        for line in events:
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise Refused(event["object"].get("code", 500), f"{path}: {event['object'].get('message')}")
            last = event["object"]
            if event["type"] != "DELETED" and holds(last):
                return last
    raise TimeoutError(f"{path} did not become what was waited for in {timeout:g} s; it is {json.dumps(last)}")


def install(server: ApiServer, *definitions: Mapping[str, Any]) -> None:
    """Creates CustomResourceDefinitions and waits until they are served. Raises Refused and TimeoutError."""
    from urllib.parse import quote

    __tracebackhide__ = True
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for definition in definitions:
        ask(server, "POST", path, definition)
    for definition in definitions:
        wait_for(server, f"{path}/{quote(definition['metadata']['name'])}", condition("Established"))
