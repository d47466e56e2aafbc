"""When a write does not fit what is stored: preconditions, resourceVersions, names that are taken."""

from __future__ import annotations

from gateway.http import status
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from gateway.kinds import metadata
from gateway.validation.field import FieldError
from gateway.writing.write import Write
from storage.errors import StoredObject


def check_uid(write: Write, key: bytes, wanted: str, actual: str) -> None:
    """The precondition that a uid in the body of a PUT is; raises StatusError 409."""
    if wanted and wanted != actual:
        resource, prefix = write.resource, write.endpoint.services.settings.etcd_prefix
        cause = unlike_stored(key, "UID", wanted, actual, prefix if write.options.dry_run else "")
        raise status.conflict(resource.group, resource.resource, write.attributes.name, cause)


def unlike_stored(key: bytes, what: str, wanted: str, actual: str, left_out: str = "") -> str:
    """What kube-apiserver's storage says of a failed precondition; a dry run's keys have no prefix (`left_out`)."""
    cause = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {actual}"
    return wrong_object(key.decode().removeprefix(left_out), cause)


def wrong_object(key: str, cause: str) -> str:
    """What kube-apiserver's storage says of an object that is not as a request needs it."""
    return f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {cause}"


def check_version(write: Write, meta: JsonObject, revision: int) -> None:
    """A resourceVersion in the body must be the present one; without one the update is unconditional, if allowed.

    Fills in the present one. Raises StatusError 409 or 422.
    """
    given = metadata.resource_version(meta)
    resource, name = write.resource, write.attributes.name
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
    """409 for a name that is taken; with a generateName it is worth trying again."""
    resource, meta = write.resource, obj["metadata"]
    error = status.already_exists(resource.group, resource.resource, meta["name"])
    if meta.get("generateName"):
        error.message += ", the server was not able to generate a unique name for the object"
        error.details = {**(error.details or {}), "retryAfterSeconds": 1}
        error.headers = ((b"retry-after", b"1"),)
    if not present.corrupt and loads(present.value)["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error
