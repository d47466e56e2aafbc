"""The functions of `apiserver_gateway.testing`, which users' tests call."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, Refused, api_server, ask, condition, install, namespace, user, wait_for
from tests.integration.customresources.definitions import definition, version


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
        with pytest.raises(TimeoutError, match="did not get the condition Ready=True in 1 s"):
            wait_for(server, path, condition("Ready"), timeout=1)


def test_conditions() -> None:
    found = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert condition("Ready", "False")(found)
    assert not condition("Ready")(found) and not condition("Ready")({})


def test_what_can_be_got_wrong_is_said_at_once_and_in_a_line(server: ApiServer, tmp_path: Path) -> None:
    def said(error: type[Exception], wrong: Callable[[], object]) -> str:
        with pytest.raises(error) as raised:
            wrong()
        words = str(raised.value)
        assert len(words) < 400 and "\n" not in words
        return words

    default = "/api/v1/namespaces/default"
    assert "a path begins with a slash" in said(ValueError, lambda: ask(server, "GET", "api/v1"))
    assert "is not the path of an object" in said(ValueError, lambda: wait_for(server, "/api/v1/namespaces", bool))
    never = said(TimeoutError, lambda: wait_for(server, default, condition("Ready"), timeout=0.1))
    assert never.startswith(f"{default} did not get the condition Ready=True in 0.1 s; it is {{") and "uid" in never
    assert "does not exist" in said(TimeoutError, lambda: wait_for(server, f"{default}s", bool, timeout=0.1))
    assert '"viewer" not found' in said(Refused, lambda: user(server, "alice", roles=["viewer"]))
    assert f"{tmp_path}/none does not exist" in said(FileNotFoundError, lambda: install(server, tmp_path / "none"))
    (tmp_path / "a.yaml").write_text("kind: ConfigMap\nmetadata: {name: a}\n")
    assert "has no CustomResourceDefinition" in said(ValueError, lambda: install(server, tmp_path))
    (tmp_path / "b.yaml").write_text("a: [b\n")
    assert "b.yaml is not valid YAML" in said(ValueError, lambda: install(server, tmp_path))


def test_definitions_are_installed_out_of_files_and_once_more(server: ApiServer, tmp_path: Path) -> None:
    kind = definition("files.example.com", version(), plural="things")
    (tmp_path / "a.yaml").write_text(f"kind: ConfigMap\n---\n{json.dumps(kind)}\n")
    (tmp_path / "README.md").write_text("no definition")
    install(server, str(tmp_path))
    install(server, tmp_path / "a.yaml", kind)
    assert ask(server, "GET", "/apis/files.example.com/v1/things")["items"] == []


def test_a_server_that_is_started_anew_is_talked_to_over_new_connections() -> None:
    with api_server() as api:
        ask(api, "GET", "/api/v1/namespaces/default")
        api.kill()
        with socket.socket() as another, pytest.raises(OSError, match="in use"):
            another.bind(("127.0.0.1", api.port))
        with pytest.raises(ConnectionError, match="does not answer"):
            ask(api, "GET", "/api/v1/namespaces/default")
        api.start()
        assert ask(api, "GET", "/api/v1/namespaces/default", token=api.token)["metadata"]["name"] == "default"
