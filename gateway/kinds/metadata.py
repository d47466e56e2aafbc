"""The metadata that the server owns (API Conventions, "Metadata"; API Concepts, "Object names")."""

from __future__ import annotations

import random
import time
from calendar import timegm
from collections.abc import Callable
from os import urandom
from typing import Any

from gateway.http.status import StatusError, bad_request
from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.schema.integers import parse_uint
from gateway.validation.field import go_quote

# as in apimachinery: no vowels, and no digits that look like letters, so that no words appear
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_MAX_BASE_LENGTH = 63 - _SUFFIX_LENGTH
_SYSTEM_FIELDS = ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)

_VARIANTS = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}

_clock: tuple[int, str] = (0, "")


def now_text() -> str:
    """The present time as RFC 3339 in seconds; formatted once a second."""
    global _clock
    second = int(time.time())
    if _clock[0] != second:
        _clock = second, time_text(second)
    return _clock[1]


def time_text(seconds: int) -> str:
    """A Unix time as RFC 3339 in seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def seconds_of(text: str) -> int:
    """The Unix time of a metav1.Time, RFC 3339 in whole seconds."""
    return timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


def wipe_system_fields(meta: JsonObject) -> None:
    """Drops the fields that only the server sets from the metadata of an object to be created."""
    for key in _SYSTEM_FIELDS:
        if key in meta:
            del meta[key]


def fill_system_fields(meta: JsonObject, now: str, generate: Callable[[str], str] | None = None) -> None:
    """Sets uid and creationTimestamp of a new object, and its name if it has a generateName.

    `generate` makes the name from it; without `generate`, five random letters follow it.
    """
    meta["uid"] = new_uid()
    meta["creationTimestamp"] = now
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = (generate or generated_name)(meta["generateName"])


def new_uid() -> str:
    """A random UUID (RFC 9562, version 4)."""
    text = urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANTS[text[16]]}{text[17:20]}-{text[20:]}"


def generated_name(prefix: str) -> str:
    """A name of a prefix and five random letters."""
    return prefix[:_MAX_BASE_LENGTH] + "".join(random.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))


def match_namespace(meta: JsonObject, namespace: str) -> None:
    """Sets the namespace of the URL on an object that has none; raises StatusError 400 when it has another."""
    own = meta.get("namespace") or ""
    if own == namespace:
        return
    if not namespace:
        meta.pop("namespace", None)
    elif not own:
        meta["namespace"] = namespace
    else:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def match_name(meta: JsonObject, name: str) -> None:
    """Raises StatusError 400 when the object's name is not that of the URL."""
    own = meta.get("name") or ""
    if own == name:
        return
    if not own:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    raise bad_request(f"the name of the object ({own}) does not match the name on the URL ({name})")


def drop_duplicate_owners(meta: JsonObject, *, after_admission: bool = False) -> list[str]:
    """Removes repeated ownerReferences, and returns warnings of that."""
    references = meta.get("ownerReferences")
    if not references or len(references) < 2:
        return []
    kept: dict[tuple[tuple[str, Any], ...], JsonObject] = {}
    duplicates: list[str] = []
    for reference in references:
        if kept.setdefault(tuple(sorted(reference.items())), reference) is not reference:
            duplicates.append(reference.get("uid", ""))
    if not duplicates:
        return []
    meta["ownerReferences"] = list(kept.values())
    when = " after mutating admission happens" if after_admission else ""
    return [_DUPLICATE_OWNERS.format(when, ", ".join(duplicates))]


def carry_over(meta: JsonObject, old: JsonObject) -> None:
    """Restores uid, creationTimestamp and deletion fields, which an update cannot change; no error is reported.

    A uid in the update stays as it is.
    """
    if not meta.get("uid"):
        meta["uid"] = old.get("uid", "")
    if "creationTimestamp" in old:
        meta["creationTimestamp"] = old["creationTimestamp"]
    if old.get("deletionTimestamp"):
        meta["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old and "deletionGracePeriodSeconds" not in meta:
        meta["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]


def keep_generation(meta: JsonObject, old: JsonObject) -> None:
    """Restores the generation, which an update cannot set."""
    if "generation" in old:
        meta["generation"] = old["generation"]
    else:
        meta.pop("generation", None)


def resource_version(meta: JsonObject) -> int:
    """The resourceVersion of an object; 0 without one. Raises StatusError 500 if it is not a number."""
    text = meta.get("resourceVersion") or ""
    if not text:
        return 0
    try:
        return parse_uint(text)
    except ValueError as fault:
        raise StatusError(500, "", f"strconv.ParseUint: parsing {go_quote(text)}: {fault}") from None


def carries_version(meta: JsonObject) -> bool:
    """Whether an object to be created has a resourceVersion that is a number other than 0."""
    if not meta.get("resourceVersion"):
        return False
    try:
        return parse_uint(meta["resourceVersion"]) != 0
    except ValueError:
        return False


def expected_namespace(resource: Resource, namespace: str) -> str:
    """The namespace that objects of a request must have: "" for cluster-scoped resources."""
    return namespace if resource.namespaced else ""
