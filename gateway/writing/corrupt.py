"""Deletes unreadable objects (KEP-3926), for requests with the delete option for that and the right to use it.

kube-apiserver has this behind the feature gate AllowUnsafeMalformedObjectDeletion. With the gate, the option is refused
for a readable object. Without the gate, a readable object is deleted as if the option were not set. Preconditions,
finalizers and admission do not apply, because there is no object to check.
"""

from __future__ import annotations

from gateway.access.authorization import require, with_verb
from gateway.http.status import conflict, forbidden, invalid, not_found
from gateway.validation import field
from gateway.writing.conflicts import wrong_object
from gateway.writing.options import META_GROUP, UNSAFE_DELETE, DeleteOptions, beside_unsafe
from gateway.writing.write import Write
from storage.change import KEEP, Decision, Delete, Outcome, change
from storage.errors import StoredObject

VERB = "unsafe-delete-ignore-read-errors"
_READABLE = "unsafe deletion is not allowed because the object is decodable from storage"


async def delete_corrupt(write: Write, options: DeleteOptions) -> bool:
    """Deletes the object that `write` names if it is unreadable. Returns False if it was not deleted here, so that the
    caller deletes it in the usual way.

    Raises StatusError 403 and 422; with the gate, also 404 and 409.
    """
    if write.context.enabled("AllowUnsafeMalformedObjectDeletion"):
        await _delete_unreadable_alone(write, options)
        return True
    context, store = write.context, write.endpoint.store
    key = write.endpoint.key(context.namespace, context.name)
    current = await store.latest(key)
    if current is None or not current.corrupt:
        return False
    _validate(options)
    await require(write.endpoint.services.authorizer, with_verb(context.request, VERB))
    return (await change(store, key, _remove, start=current)).outcome is Outcome.DELETED


async def _remove(current: StoredObject | None) -> Decision:
    return Delete() if current is not None and current.corrupt else KEEP


async def _delete_unreadable_alone(write: Write, options: DeleteOptions) -> None:
    """Deletes the object, which must be unreadable; a dry run only checks. Raises StatusError 403, 404 and 409."""
    context, resource = write.context, write.resource
    write.annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "", False)
    await _require(write)
    key = write.endpoint.key(context.namespace, context.name)
    shown = write.endpoint.services.shown_key(key)

    async def remove(current: StoredObject | None) -> Decision:
        if current is None:
            raise not_found(resource.group, resource.resource, context.name)
        if not current.corrupt:
            raise conflict(resource.group, resource.resource, context.name, wrong_object(shown, _READABLE))
        return KEEP if options.dry_run else Delete()

    await change(write.store, key, remove)


async def _require(write: Write) -> None:
    authorizer, asked = write.endpoint.services.authorizer, with_verb(write.context.request, VERB)
    verdict = authorizer.known(asked) or await authorizer.authorize(asked)
    if verdict.allowed:
        return
    why = f'not permitted to do "{VERB}", reason: {verdict.reason}'
    if verdict.error:
        why = f'error while checking permission for "{VERB}", {verdict.error}'
    raise forbidden(write.resource.group, write.resource.resource, write.context.name, why)


def _validate(options: DeleteOptions) -> None:
    errors = [field.invalid(UNSAFE_DELETE, True, "cannot be set together with .dryRun")] if options.dry_run else []
    errors += beside_unsafe(options.given)
    if errors:
        raise invalid(META_GROUP, "DeleteOptions", "", errors)
