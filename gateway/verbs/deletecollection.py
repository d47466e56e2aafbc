"""deletecollection: DELETE of a collection, each object on its own (API Concepts, "Resource deletion")."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.kinds.resource import Resource
from gateway.verbs.delete import CHILDREN_STAY, delete_object, unspecified
from gateway.verbs.delete_options import read_delete_options
from gateway.verbs.list import answer_page, read_page
from gateway.verbs.list_options import list_options
from gateway.verbs.options import DeleteOptions, WriteOptions
from gateway.verbs.write import Write, begin
from storage.entry import Entry

if TYPE_CHECKING:
    from gateway.server import Gateway


async def deletecollection(gateway: Gateway, request: Request, resource: Resource) -> Response:
    """Deletes what the selectors select; answers the list of it as it was. Raises StatusError 400, 410, 422 and more.

    It is not atomic: when one deletion fails, others may have been made. They come one by one, in the order of names.
    """
    served = gateway.served[resource.group, resource.version, resource.resource]
    selection = list_options(request, served.selectable, watch=False)
    options = await read_delete_options(request)
    prefix = served.collection(request.info.namespace)
    page = await read_page(gateway.store.reads, served, prefix, selection)
    write = begin(gateway, request, resource, WriteOptions(dry_run=options.dry_run))
    if resource.resource == "jobs" and resource.group == "batch" and unspecified(options):
        request.warnings.append(CHILDREN_STAY)
    for entry in page.entries:
        await _delete_one(write, entry, options)
    return await answer_page(served, page, prefix, selection)


async def _delete_one(write: Write, entry: Entry, options: DeleteOptions) -> None:
    namespace, _, name = entry.key[len(write.scope.key_prefix) :].decode().rpartition("/")
    context = replace(write.context, namespace=namespace or name, name=name)
    try:
        await delete_object(replace(write, context=context), replace(options))
    except StatusError as error:
        if error.reason != "NotFound":
            raise
