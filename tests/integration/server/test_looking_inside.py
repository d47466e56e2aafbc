"""statusz and flagz, profiles for administrators, and logs that programs can read."""

from __future__ import annotations

import json
import re

from apiserver_gateway.testing import api_server
from gateway.release.minors import DEFAULT, GIT_VERSIONS
from tests.integration.server.client import ask

TEXT = {"Accept": "text/plain"}


def test_status_and_flags_are_told() -> None:
    with api_server() as server:
        status = ask(server, "GET", "/statusz", headers=TEXT)
        assert status.status == 200 and status.headers["content-type"].startswith("text/plain")
        assert "x-content-type-options" not in status.headers
        assert re.search(rb"^Up: 0 hr 0\d min \d\d sec$", status.body, re.MULTILINE)
        flags = ask(server, "GET", "/flagz", headers=TEXT).body.decode()
        assert ",CBORServingAndStorage=false," in re.findall(r"^feature-gates=(.*)$", flags, re.MULTILINE)[0]
        assert (
            'kubernetes_feature_enabled{name="WatchList",stage="BETA"} 1'
            in ask(server, "GET", "/metrics").body.decode()
        )
        assert "\nv=2\n" in flags and "\nanonymous-auth=True\n" in flags
        assert "\nadmin-token=(set)\n" in flags and server.token not in flags
        for path in ("/statusz", "/flagz"):
            assert ask(server, "GET", path, token=None).status == 403


def test_statusz_and_flagz_are_documents_for_programs_that_ask() -> None:
    with api_server() as server:
        for path, kind, member in (("/statusz", "Statusz", "uptimeSeconds"), ("/flagz", "Flagz", "flags")):
            for version, old in (("v1beta1", False), ("v1alpha1", True)):
                wanted = f"application/json;g=config.k8s.io;v={version};as={kind}"
                found = ask(server, "GET", path, headers={"Accept": f"text/html, {wanted}, text/plain;q=0.5"})
                assert (found.status, found.headers["content-type"], "warning" in found.headers) == (200, wanted, old)
                assert (found.json["apiVersion"], found.json["kind"]) == (f"config.k8s.io/{version}", kind)
                assert found.json["metadata"] == {"name": "apiserver"} and found.json[member]
            assert ask(server, "GET", path, headers={"Accept": "text/*"}).body.startswith(
                f"\napiserver {path[1:]}\n".encode()
            )
            for refused in ("application/json", "text/html", "application/*", f"{wanted}z", f"{wanted};stream=watch"):
                answer = ask(server, "GET", path, headers={"Accept": refused})
                assert answer.status == 406 and b"application/json, application/yaml, text/plain" in answer.body
            assert ask(server, "GET", path, headers={"Accept": "application/yaml"}).status == 406


def test_profiles_are_for_administrators_and_off_by_default() -> None:
    with api_server() as server:
        assert ask(server, "GET", "/debug/pprof/heap").status == 404
        assert ask(server, "GET", "/debug/pprof/").status == 404
    with api_server("--profiling") as server:
        assert ask(server, "GET", "/debug/pprof/heap", token=None).status == 403
        assert b"builtins.dict" in ask(server, "GET", "/debug/pprof/heap").body
        found = ask(server, "GET", "/debug/pprof/profile?seconds=1").json
        main = next(each for each in found["profiles"] if each["name"] == "MainThread")
        names = {found["shared"]["frames"][frame]["name"] for stack in main["samples"] for frame in stack}
        assert "serve" in names
        assert 0 < main["endValue"] < 2  # on a busy machine the sampling is less frequent


def test_a_page_leads_to_the_profiles() -> None:
    with api_server("--profiling") as server:
        for method, body in (("GET", b'<a href="/debug/pprof/">Found</a>.\n\n'), ("HEAD", b""), ("POST", b"")):
            found = ask(server, method, "/debug/pprof")
            assert (found.status, found.headers["location"], found.body) == (302, "/debug/pprof/", body)
        page = ask(server, "GET", "/debug/pprof/")
        assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
        for name in re.findall(rb'href="(\w+)', page.body):
            assert name == b"https" or ask(server, "GET", f"/debug/pprof/{name.decode()}?seconds=0").status == 200
        unknown = ask(server, "GET", "/debug/pprof/none/such")
        assert (unknown.status, unknown.body) == (404, b"Unknown profile\n")
        assert ask(server, "GET", "/debug/pprof/", token=None).status == 403


def test_every_line_is_json_and_requests_are_logged_at_v_3() -> None:
    path = "/api/v1/namespaces/default/configmaps"
    with api_server("--log-format=json", "--v=3") as server:
        answer = ask(server, "GET", f"{path}?limit=5", headers={"User-Agent": "looks/1"})
        assert answer.status == 200
        server.stop()
        lines = [json.loads(line) for line in server.log_file.read_text().splitlines()]
    said = {line["message"]: line for line in lines}
    assert lines[0]["message"] == "starting" and said["ready"]["version"] == GIT_VERSIONS[DEFAULT]
    assert lines[-1]["message"] == "stopped"
    (told,) = [line for line in lines if line.get("URI") == f"{path}?limit=5"]
    assert (told["verb"], told["resp"], told["userAgent"]) == ("list", 200, "looks/1")
    assert told["audit-ID"] == answer.headers["audit-id"] and told["latency"].endswith("ms")
