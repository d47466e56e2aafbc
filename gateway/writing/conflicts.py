"""Conflicts of a write with the stored object: preconditions, resourceVersion, a name that is taken."""

from __future__ import annotations

from gateway.http import status
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from gateway.kinds import metadata
from gateway.validation.field import FieldError
from gateway.writing.write import Write
from storage.errors import StoredObject


def check_uid(write: Write, key: bytes, wanted: str, actual: str) -> None:
    """Checks the uid in the body of a PUT, which is a precondition. Raises StatusError 409."""
    if wanted and wanted != actual:
        resource, services = write.resource, write.endpoint.services
        cause = unlike_stored(services.shown_key(key, prefixed=not write.options.dry_run), "UID", wanted, actual)
        raise status.conflict(resource.group, resource.resource, write.context.name, cause)


def unlike_stored(key: str, what: str, wanted: str, actual: str) -> str:
    """The message of kube-apiserver's storage for a failed precondition. `key` is as messages show it."""
    cause = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {actual}"
    return wrong_object(key, cause)


def wrong_object(key: str, cause: str) -> str:
    """The message of kube-apiserver's storage for an object that does not meet a precondition."""
    return f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {cause}"


def check_version(write: Write, meta: JsonObject, revision: int) -> None:
    """Checks the resourceVersion in the body: it must be the present one. Without one, the update is unconditional, if
    the strategy allows that, and the present one is filled in. Raises StatusError 409 or 422.
    """
    given = metadata.resource_version(meta)
    resource, name = write.resource, write.context.name
    if given == 0:
        if not write.endpoint.strategy.allow_unconditional_update:
            error = FieldError(
                "FieldValueInvalid",
                "metadata.resourceVersion",
                "Invalid value: 0: must be specified for an update",
            )
            raise status.invalid(resource.group, resource.resource, name, [error])
        meta["resourceVersion"] = str(revision)
    elif given != revision:
        raise status.conflict(resource.group, resource.resource, name, status.MODIFIED)


def already_there(write: Write, obj: JsonObject, present: StoredObject) -> StatusError:
    """The error 409 for a name that is taken; with generateName it has Retry-After."""
    resource, meta = write.resource, obj["metadata"]
    error = status.already_exists(resource.group, resource.resource, meta["name"])
    if meta.get("generateName"):
        error.message += ", the server was not able to generate a unique name for the object"
        error.details = {**(error.details or {}), "retryAfterSeconds": 1}
        error.headers = ((b"retry-after", b"1"),)
    if not present.corrupt and loads(present.value)["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error
