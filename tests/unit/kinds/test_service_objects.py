"""The EndpointSlices of a service are found without parsing those of all other services."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.service_objects import SERVICE_NAME, ServiceObjects


class _Entry:
    def __init__(self, obj: JsonObject, parsed: list[str]) -> None:
        self._obj, self._parsed, self.tail = obj, parsed, dumps(obj)

    def parsed(self) -> JsonObject:
        self._parsed.append(self._obj["metadata"]["name"])
        return self._obj


def a_slice(name: str, service: str, **more: Any) -> JsonObject:
    return {"metadata": {"name": name, "labels": {SERVICE_NAME: service}}, **more}


@pytest.mark.parametrize(("service", "found"), [("web", ["a", "c"]), ("we", []), ('x"', []), ("\udcff", [])])
def test_only_slices_that_name_the_service_are_parsed(service: str, found: list[str]) -> None:
    parsed: list[str] = []
    objs = [
        a_slice("a", "web"),
        a_slice("b", "web-2"),
        a_slice("c", "web"),
        a_slice("d", "db", endpoints=[{"hostname": "web"}]),
        {"metadata": {"name": "e"}},
    ]
    objects: Any = SimpleNamespace(readable=lambda gvr, namespace: [_Entry(obj, parsed) for obj in objs])
    slices = ServiceObjects(objects).endpoint_slices("default", service)
    assert [each["metadata"]["name"] for each in slices] == found
    assert set(parsed) <= {*found, "d"}
