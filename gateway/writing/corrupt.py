"""Deletes unreadable objects (KEP-3926), for requests with the option for that and the right to use it.

kube-apiserver has this behind the feature gate AllowUnsafeMalformedObjectDeletion. For an object that can be read the
option has no effect. Preconditions and finalizers are not checked and admission plug-ins not asked: there is no object.
"""

from __future__ import annotations

from gateway.access.authorization import require, with_verb
from gateway.http.status import invalid
from gateway.validation import field
from gateway.writing.options import META_GROUP, UNSAFE_DELETE, DeleteOptions
from gateway.writing.write import Write
from storage.change import KEEP, Decision, Delete, Outcome, change
from storage.errors import StoredObject

VERB = "unsafe-delete-ignore-read-errors"


async def delete_corrupt(write: Write, options: DeleteOptions) -> bool:
    """Deletes the object that `write` names if it can't be read; False when it can, or is not there.

    Raises StatusError 403 and 422.
    """
    attributes, store = write.attributes, write.endpoint.store
    key = write.endpoint.key(attributes.namespace, attributes.name)
    current = await store.latest(key)
    if current is None or not current.corrupt:
        return False
    _validate(options)
    await require(write.endpoint.services.authorizer, with_verb(attributes.request, VERB))

    async def remove(current: StoredObject | None) -> Decision:
        return Delete() if current is not None and current.corrupt else KEEP

    return (await change(store, key, remove, start=current)).outcome is Outcome.DELETED


def _validate(options: DeleteOptions) -> None:
    given = {
        "dryRun": options.dry_run,
        "propagationPolicy": options.propagation is not None,
        "orphanDependents": options.orphan_dependents is not None,
        "gracePeriodSeconds": options.grace_period is not None,
        "preconditions": options.uid is not None or options.resource_version is not None,
    }
    errors = [
        field.invalid(UNSAFE_DELETE, True, f"cannot be set together with .{name}")
        for name, is_given in given.items()
        if is_given
    ]
    if errors:
        raise invalid(META_GROUP, "DeleteOptions", "", errors)
