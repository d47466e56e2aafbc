"""OpenAPI of extension API servers: the last document is kept until a new one can be fetched."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

from gateway.aggregation.extension_openapi import MOST_PLACES, ExtensionOpenApi
from gateway.aggregation.services import ApiService
from gateway.outbound.client import Reply
from gateway.outbound.request import Header

PLACE = "apis/e.com/v1"
NAME = "v1.e.com"
DOCUMENT = {"swagger": "2.0", "info": {"title": "t"}, "paths": {f"/{PLACE}/things": {"get": {}}}, "definitions": {}}
INDEX = {"paths": {PLACE: {"serverRelativeURL": f"/openapi/v3/{PLACE}?hash=A"}}}


class Asked:
    """An extension API server that answers by path; an unknown path gets no answer."""

    def __init__(self) -> None:
        self.answers: dict[str, Reply] = {}
        self.tags = list[bytes | None]()

    async def get(self, service: ApiService, path: str, headers: list[Header]) -> Reply | None:
        if path == "/openapi/v2":
            self.tags.append(dict(headers).get(b"if-none-match"))
        return self.answers.get(path)

    def says(self, version_3: Reply | None, version_2: Reply | None) -> None:
        given = {"/openapi/v3": version_3, "/openapi/v2": version_2}
        self.answers = {path: answer for path, answer in given.items() if answer is not None}


def answer(body: Any, *headers: Header) -> Reply:
    return Reply(200, list(headers), json.dumps(body).encode())


def made() -> tuple[ExtensionOpenApi, Asked]:
    service, asked = ApiService(NAME, "e.com", "v1", 1, 1, "", True, ("default", "ext", 443)), Asked()
    services = SimpleNamespace(get={NAME: service}.get)
    described = ExtensionOpenApi(*cast(Any, (services, None, None, None)))
    described._documents = cast(Any, asked)
    return described, asked


def looked(described: ExtensionOpenApi) -> None:
    async def look() -> None:
        await described.reconcile(NAME)
        described.queue.close()

    asyncio.run(look())


def test_a_server_that_fails_keeps_its_documents() -> None:
    described, asked = made()
    asked.says(answer(INDEX), answer(DOCUMENT))
    looked(described)
    known = described.places(())
    assert known == {PLACE: f"/openapi/v3/{PLACE}?hash=A"}
    for failure in (None, Reply(500)):
        asked.says(failure, failure)
        looked(described)
        assert described.places(()) == known and len(described.version_2()) == 1
    asked.says(answer(INDEX), Reply(404))
    looked(described)
    assert described.places(()) == known and not described.version_2()


def test_version_3_is_made_where_there_is_version_2_alone() -> None:
    described, asked = made()
    tagged = answer(DOCUMENT, (b"etag", b'"x"'))
    asked.says(answer(INDEX), tagged)
    looked(described)
    assert described.converted(PLACE, served=False) is None
    asked.says(Reply(404), tagged)
    looked(described)
    asked.says(Reply(404), Reply(304))
    looked(described)
    assert asked.tags == [None, None, b'"x"']  # the document is needed when there is no longer one of version 3
    converted = described.converted(PLACE, served=False)
    assert converted is not None and json.loads(converted.content)["openapi"] == "3.0.0"
    assert described.places(()) == {PLACE: converted.url(PLACE)}
    asked.says(answer(INDEX), Reply(304))
    looked(described)
    assert described.converted(PLACE, served=False) is None and described.places(())[PLACE].endswith("=A")


def test_a_server_without_any_document_has_none() -> None:
    described, asked = made()
    asked.says(Reply(404), answer(DOCUMENT))
    looked(described)
    asked.says(Reply(404), Reply(404))
    looked(described)
    assert not described.places(()) and described.converted(PLACE, served=False) is None


def test_a_server_has_so_many_documents_at_most() -> None:
    described, asked = made()
    places = {f"apis/e{number}.com/v1": {"serverRelativeURL": f"/{number}"} for number in range(MOST_PLACES + 10)}
    asked.says(answer({"paths": {"apis/wrong": {"serverRelativeURL": 1}, "apis/odd": [], **places}}), Reply(404))
    looked(described)
    known = described.places(())
    assert len(known) == MOST_PLACES and known["apis/e0.com/v1"] == "/0" and "apis/wrong" not in known
