"""The rights that the sender of a step needs, computed from the request alone."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from tests.integration.access.attempts import APPLY, BUILT_IN, CERTIFICATES, REVIEWS, Json, Step, username
from tests.integration.access.granted import MASTERS, Granted, Principal, Right

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}
_PREFIX = "system:serviceaccount:"


def account(namespace: str, name: str) -> Principal:
    """A service account that uses its own credentials."""
    return Principal(username(namespace, name), _with_account_groups(namespace))


def asked(step: Step) -> Right:
    """The right that a step's method and path require."""
    parts = urlsplit(step.path).path.strip("/").split("/")
    group = "" if parts[0] == "api" else parts[1]
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource, name = rest[0], rest[1] if len(rest) > 1 else ""
    verb = _VERBS[step.method]
    if verb == "delete" and not name:
        verb = "deletecollection"
    return Right(verb, group, f"{resource}/{rest[2]}" if len(rest) > 2 else resource, namespace, name)


def rights(step: Step, created: bool) -> Iterator[Right]:
    """The rights that a successful step required. `created` tells whether it created an object."""
    right = asked(step)
    yield right
    if created and (step.method == "PUT" or step.media == APPLY):
        yield Right("create", right.group, right.resource, right.namespace, right.name)


def signer_rights(before: Json | None, after: Json | None) -> Iterator[tuple[Right, Right]]:
    """The rights that a change of a certificate request required, each as a pair: for the one signer, and for all
    signers of its domain.
    """
    if before is None or after is None or before["metadata"]["uid"] != after["metadata"]["uid"]:
        return
    signer = after["spec"]["signerName"]
    names = signer, f"{signer.partition('/')[0]}/*"
    decided = [{each["type"] for each in obj["status"].get("conditions") or ()} for obj in (before, after)]
    if (decided[0] ^ decided[1]) & {"Approved", "Denied"}:
        yield _each("approve", names)
    had, has = (obj["status"].get("certificate") for obj in (before, after))
    by_itself = signer == BUILT_IN and "Approved" in decided[1] - decided[0] and not had
    if had != has and not by_itself:
        yield _each("sign", names)


def is_to_be_signed(request: Json) -> bool:
    """Whether a controller will sign a certificate request."""
    status = request.get("status") or {}
    found = {each["type"] for each in status.get("conditions") or ()}
    approved = "Approved" in found and not found & {"Denied", "Failed"}
    return request["spec"]["signerName"] == BUILT_IN and approved and not status.get("certificate")


def _each(verb: str, names: tuple[str, str]) -> tuple[Right, Right]:
    return Right(verb, CERTIFICATES, "signers", "", names[0]), Right(verb, CERTIFICATES, "signers", "", names[1])


def carried_out_as(step: Step, sender: Principal, granted: Granted) -> Principal | None:
    """The user as whom a step is carried out; None if its sender may not impersonate that user."""
    if not step.headers:
        return sender
    name = dict(step.headers)["Impersonate-User"]
    groups = [value for header, value in step.headers if header == "Impersonate-Group"]
    more = {header for header, _ in step.headers} - {"Impersonate-User", "Impersonate-Group"}
    ways = [list(_plain(name, groups, more))]
    if MASTERS not in groups and (not name.startswith(_PREFIX) or len(step.headers) == 1):
        ways.append(list(_constrained(name, groups, more, asked(step))))
    if not any(all(granted.allows(sender, each) for each in way) for way in ways):
        return None
    if name.startswith(_PREFIX) and not groups:
        return Principal(name, _with_account_groups(name.split(":")[2]))
    return Principal(name, frozenset([*groups, "system:authenticated"]))


def _plain(name: str, groups: list[str], more: set[str]) -> Iterator[Right]:
    yield _of_name("impersonate", "", name)
    yield from (Right("impersonate", "", "groups", "", each) for each in groups)
    yield from _of_others("impersonate", more)


def _constrained(name: str, groups: list[str], more: set[str], on: Right) -> Iterator[Right]:
    mode = "serviceaccount" if name.startswith(_PREFIX) else "user-info"
    verb = f"impersonate:{mode}"
    yield Right(f"impersonate-on:{mode}:{on.verb}", on.group, on.resource, on.namespace, on.name)
    yield _of_name(verb, REVIEWS, name)
    yield from (Right(verb, REVIEWS, "groups", "", each) for each in groups)
    yield from _of_others(verb, more)


def _of_name(verb: str, group: str, name: str) -> Right:
    if name.startswith(_PREFIX):
        _, _, namespace, own = name.split(":")
        return Right(verb, group, "serviceaccounts", namespace, own)
    return Right(verb, group, "users", "", name)


def _of_others(verb: str, more: set[str]) -> Iterator[Right]:
    if "Impersonate-Uid" in more:
        yield Right(verb, REVIEWS, "uids", "", "1")
    if "Impersonate-Extra-Scopes" in more:
        yield Right(verb, REVIEWS, "userextras/scopes", "", "all")


def _with_account_groups(namespace: str) -> frozenset[str]:
    return frozenset(["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"])
