"""The errors of reads and writes of unreadable objects.

With the gate AllowUnsafeMalformedObjectDeletion (KEP-3926) they say which objects are unreadable, so that these can be
deleted. Words and keys are those of k8s.io/apiserver/pkg/storage/etcd3/corrupt_obj_deleter.go: a key has the prefix of
etcd in lists, and lacks it in reads of one object.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from gateway.endpoints.endpoint import Endpoint
from gateway.http.failures import as_status
from gateway.http.status import StatusError, internal_error
from gateway.kinds.model import ConversionFailed
from gateway.validation.field import go_quote
from storage.entry import CorruptEntry, Entry, check_awaited
from storage.errors import CorruptObject

_T = TypeVar("_T")

GATE = "AllowUnsafeMalformedObjectDeletion"
MOST = 100
"""The number of unreadable objects that the error of a list names."""
_READ_ERROR, _UNEXPECTED, _TOO_MANY = "StorageReadError", "UnexpectedServerResponse", "FieldValueTooMany"
_MORE = "too many errors, the list is truncated"


def read_error(endpoint: Endpoint, error: CorruptObject) -> StatusError:
    """The error of a GET or DELETE of an unreadable object."""
    if not _named(endpoint):
        return as_status(error)
    key = endpoint.services.shown_key(error.key, prefixed=False)
    return internal_error(_of_storage(key, error))


def write_error(endpoint: Endpoint, error: CorruptObject) -> StatusError:
    """The error of an update of an unreadable object, by PUT or PATCH."""
    if not _named(endpoint):
        return as_status(error)
    return internal_error(str(error)) if error.untransformed else StatusError(500, "", str(error))


async def converted(endpoint: Endpoint, key: bytes, revision: int, conversion: Awaitable[_T]) -> _T:
    """The result of the conversion of a stored object, read by its name. Raises StatusError 500 if the webhook fails.

    With the gate, the object counts as unreadable then, also in an update.
    """
    try:
        return await conversion
    except ConversionFailed as error:
        if not _named(endpoint):
            raise
        raise read_error(endpoint, CorruptObject(key, revision, str(error))) from None


def list_error(endpoint: Endpoint, entries: Sequence[Entry], error: CorruptObject) -> StatusError:
    """The error of a list with the unreadable object of `error`; `entries` are all objects of the list."""
    key = endpoint.services.shown_key(error.key)
    if not _named(endpoint):
        if not error.untransformed:
            return as_status(error)
        return internal_error(f"unable to transform key {go_quote(key)}: {error.reason}")
    found = _errors(endpoint, entries) or [(key, _of_storage(key, error))]
    causes = [{"reason": _UNEXPECTED, "message": text, "field": each} for each, text in found]
    if len(found) == MOST:
        causes.append({"reason": _TOO_MANY, "message": _MORE})
    resource = endpoint.resource
    message = f"failed to read one or more {_qualified(endpoint)} from the storage: {found[0][1]}"
    if len(found) > 1:
        message = f"{message} (and {len(found) - 1} more)"
    details = {"name": "list", "group": resource.group, "kind": resource.resource, "causes": causes}
    return StatusError(500, _READ_ERROR, message, {name: each for name, each in details.items() if each})


def refuse_unreadable(endpoint: Endpoint, entries: Sequence[Entry]) -> None:
    """Raises the error of the list if one of its objects is unreadable; AwaitedObject if it may become readable."""
    check_awaited(entries)
    for entry in entries:
        if isinstance(entry, CorruptEntry):
            raise list_error(endpoint, entries, _error_of(entry))


def _errors(endpoint: Endpoint, entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """The keys of the first unreadable objects, and the error of each."""
    found = list[tuple[str, str]]()
    for entry in entries:
        if isinstance(entry, CorruptEntry):
            key = endpoint.services.shown_key(entry.key)
            found.append((key, _of_storage(key, _error_of(entry))))
            if len(found) == MOST:
                break
    return found


def _error_of(entry: CorruptEntry) -> CorruptObject:
    return CorruptObject(entry.key, entry.revision, entry.reason, entry.raw)


def _of_storage(key: str, error: CorruptObject) -> str:
    return f"StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {error}"


def _named(endpoint: Endpoint) -> bool:
    return endpoint.services.admission.release.gates.enabled(GATE)


def _qualified(endpoint: Endpoint) -> str:
    """The resource as messages name it: "secrets", "deployments.apps"."""
    group, resource = endpoint.resource.group, endpoint.resource.resource
    return f"{resource}.{group}" if group else resource
