"""The effect of query parameters on requests for single objects."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.exchange import Request
from gateway.http.request_info import request_info
from gateway.http.status import StatusError
from gateway.reading.list_options import list_options
from gateway.reading.objects import version_asked
from gateway.writing.options import delete_options_of_query
from tests.unit.verbs.conftest import Api

MAPS = "/api/v1/namespaces/default/configmaps"


async def refused(api: Api, *request: Any, **more: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await api.send(*request, **more)
    return caught.value


def test_a_query_may_have_preconditions_of_a_deletion() -> None:
    options = delete_options_of_query({"uid": ["u"], "resourceVersion": ["7"]})
    assert (options.uid, options.resource_version) == ("u", "7")
    options = delete_options_of_query({"uid": [""], "resourceVersion": [""]})
    assert (options.uid, options.resource_version) == (None, None)


@pytest.mark.parametrize("query", ["uid=other", "resourceVersion=0", "uid=other&resourceVersion=1"])
async def test_what_is_another_object_is_not_deleted(api: Api, query: str) -> None:
    await api.send("POST", MAPS, {"metadata": {"name": "m"}})
    error = await refused(api, "DELETE", f"{MAPS}/m", query=query)
    assert (error.code, b"/registry/configmaps/default/m" in api.store.objects) == (409, True)


@pytest.mark.parametrize("value", ["true", "", "x", "1"])
def test_nothing_is_exported(value: str) -> None:
    with pytest.raises(StatusError) as caught:
        version_asked(asking(f"export={value}&resourceVersion=7"))
    text = "the export parameter, deprecated since v1.14, is no longer supported"
    assert (caught.value.code, caught.value.message) == (400, text)


@pytest.mark.parametrize("value", ["false", "0"])
def test_who_wants_no_export_gets_the_object(value: str) -> None:
    assert version_asked(asking(f"export={value}&resourceVersion=7")) == "7"


def asking(query: str) -> Request:
    async def nothing() -> dict[str, Any]:
        return {}

    request = Request("GET", MAPS, query.encode(), {}, nothing)
    request.info = request_info("GET", MAPS, request.query)
    return request


@pytest.mark.parametrize("version", ["", "&resourceVersion=0"])
def test_a_watch_that_begins_with_what_is_there_continues_nothing(api: Api, version: str) -> None:
    selectable = api.endpoints.of("", "v1", "configmaps", "").selectable
    with pytest.raises(StatusError, match="resourceVersionMatch is forbidden when continue is provided"):
        list_options(asking(f"watch=1&continue=x{version}"), selectable, watch=True)
    assert list_options(asking("watch=1&continue=x&resourceVersion=5"), selectable, watch=True).continuation == "x"
