"""deletecollection: DELETE of a collection, each object on its own (API Concepts, "Resource deletion")."""

from __future__ import annotations

from dataclasses import replace

from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.routing import no_namespace
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError, invalid
from gateway.kinds.write_context import WriteOptions
from gateway.reading.list_options import EXACT, list_options
from gateway.reading.lists import answer_page
from gateway.reading.pages import read_page
from gateway.reading.unreadable import refuse_unreadable
from gateway.validation import field
from gateway.verbs.delete import warn_of_dependents
from gateway.writing.delete import delete_object
from gateway.writing.deleting_each import delete_each
from gateway.writing.options import META_GROUP, UNSAFE_DELETE, DeleteOptions
from gateway.writing.options_body import read_delete_options
from gateway.writing.write import Write, begin
from storage.entry import Entry
from storage.keys import namespace_and_name


async def deletecollection(endpoint: Endpoint, request: Request) -> Response:
    """Deletes the objects that the selectors select; answers with the list of them as they were before.

    This is not atomic: when one deletion fails, others may have been made. A short list is deleted one by one, in the
    order of names; a long one several at a time. Raises StatusError 400, 410, 422, and those of `delete`.
    """
    selection = list_options(request, endpoint.selectable, False, endpoint.sharded)
    if selection.resource_version not in ("", "0") and not selection.resource_version_match:
        # kube-apiserver reads in chunks, all of exactly that version
        selection = replace(selection, resource_version_match=EXACT)
    enabled = endpoint.services.admission.release.gates.enabled
    options = await read_delete_options(request, enabled)
    if options.unsafe and enabled("AllowUnsafeMalformedObjectDeletion"):
        why = "is not allowed with DELETECOLLECTION, try again after removing the option"
        raise invalid(META_GROUP, "DeleteOptions", "", [field.invalid(UNSAFE_DELETE, True, why)])
    prefix = endpoint.collection(request.info.namespace)
    page = await read_page(endpoint.store.reads, endpoint, prefix, selection)
    refuse_unreadable(endpoint, page.entries)
    write = begin(endpoint, request, WriteOptions(dry_run=options.dry_run))
    warn_of_dependents(endpoint, request, options)
    if request.info.in_no_namespace and page.entries:
        raise no_namespace()  # kube-apiserver looks for each in the request's namespace, not in the object's own
    at_once = write.endpoint.services.settings.delete_collection_workers
    await delete_each(page.entries, lambda entry: _delete_one(write, entry, options), at_once)
    return await answer_page(endpoint, request, page, prefix, selection)


async def _delete_one(write: Write, entry: Entry, options: DeleteOptions) -> None:
    namespace, name = namespace_and_name(entry.key, write.endpoint.cache.spec.prefix)
    context = write.context.of_object(namespace, name)
    try:
        await delete_object(write._replace(context=context), replace(options))
    except StatusError as error:
        if error.reason != "NotFound":
            raise
