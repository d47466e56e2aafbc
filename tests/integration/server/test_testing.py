"""What `gateway.testing` offers to tests of others."""

from __future__ import annotations

import threading

import pytest

from gateway.testing import ApiServer, Refused, ask, condition, namespace, wait_for


def config_maps(name: str) -> str:
    return f"/api/v1/namespaces/{name}/configmaps"


def test_a_namespace_is_there_for_a_block(server: ApiServer) -> None:
    with namespace(server) as name:
        ask(server, "POST", config_maps(name), {"metadata": {"name": "a"}})
    try:
        left = ask(server, "GET", f"/api/v1/namespaces/{name}")
    except Refused as error:
        assert error.status == 404
    else:
        assert left["metadata"]["deletionTimestamp"]


def test_refusals_say_what_was_asked_and_why(server: ApiServer) -> None:
    with pytest.raises(Refused, match=r'404: GET .*/configmaps/none: configmaps "none" not found') as raised:
        ask(server, "GET", config_maps("default") + "/none")
    assert raised.value.status == 404


def test_waiting_sees_what_is_and_what_comes(server: ApiServer) -> None:
    with namespace(server) as name:
        path = f"{config_maps(name)}/a"

        def create() -> None:
            ask(server, "POST", config_maps(name), {"metadata": {"name": "a"}, "data": {"b": "1"}})
            ask(server, "PUT", path, {"metadata": {"name": "a"}, "data": {"b": "2"}})

        later = threading.Timer(0.2, create)
        later.start()
        assert wait_for(server, path, lambda found: found.get("data") == {"b": "2"})["metadata"]["name"] == "a"
        later.join()
        assert wait_for(server, path, lambda found: bool(found["data"]))
        with pytest.raises(TimeoutError, match="did not become what was waited for in 1 s"):
            wait_for(server, path, condition("Ready"), timeout=1)


def test_conditions() -> None:
    found = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert condition("Ready", "False")(found)
    assert not condition("Ready")(found) and not condition("Ready")({})
