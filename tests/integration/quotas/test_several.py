"""A refusal in a namespace with several quotas, which are recounted one after the other."""

from __future__ import annotations

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.customresources.definitions import definition, establish, version
from tests.integration.quotas.test_model import MERGE
from tests.integration.server.client import ask
from tests.until import until

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_write_is_refused_in_time_where_another_quota_was_counted_first() -> None:
    """Only the test recounts here, so that the quota that refuses does not change."""
    flags = ("--controllers=namespace-controller", "--disable-admission-plugins=ServiceAccount")
    with api_server(*flags) as server:
        for name in ("a", "b"):
            made = {"metadata": {"name": name}, "spec": {"hard": {"configmaps": "1" if name == "a" else "9"}}}
            assert ask(server, "POST", QUOTAS, made).status == 201
            _count(server, name, {"hard": made["spec"]["hard"], "used": {"configmaps": "0"}})
            until(lambda name=name: _is_told(server, name))
        assert ask(server, "POST", MAPS, {"metadata": {"name": "first"}}).status == 201
        assert ask(server, "DELETE", f"{MAPS}/first").status == 200
        _count(server, "b", {"used": {"configmaps": "0"}})
        refused = ask(server, "POST", MAPS, {"metadata": {"name": "second"}})
        assert (refused.status, "exceeded quota: a" in refused.json["message"]) == (403, True)
        _count(server, "a", {"used": {"configmaps": "0"}})
        assert ask(server, "POST", MAPS, {"metadata": {"name": "second"}}).status == 201


def test_a_kind_that_comes_has_only_those_quotas_recounted_that_limit_it() -> None:
    """A usage that a client has removed stays removed, as in kube-apiserver, whatever others define meanwhile."""
    with api_server() as server:
        limits = {
            "a-removed": ("configmaps", "count/nothings.example.com"),
            "b-counted": ("count/widgets.example.com",),
        }
        for name, hard in limits.items():
            made = {"metadata": {"name": name}, "spec": {"hard": dict.fromkeys(hard, "5")}}
            assert ask(server, "POST", QUOTAS, made).status == 201
        until(lambda: "configmaps" in _used(server, "a-removed"))
        until(lambda: "hard" in ask(server, "GET", f"{QUOTAS}/b-counted").json["status"])
        _count(server, "a-removed", {"used": {"configmaps": None}})
        establish(server, definition("example.com", version()))
        until(lambda: "count/widgets.example.com" in _used(server, "b-counted"))
        assert "configmaps" not in _used(server, "a-removed")


def _used(server: ApiServer, name: str) -> dict[str, str]:
    found: dict[str, str] = ask(server, "GET", f"{QUOTAS}/{name}").json.get("status", {}).get("used", {})
    return found


def _is_told(server: ApiServer, name: str) -> bool:
    """Whether the server's admission uses a quota."""
    answer = ask(server, "GET", f"{QUOTAS}/{name}?resourceVersion=0")
    return answer.status == 200 and "used" in answer.json["status"]


def _count(server: ApiServer, name: str, status: dict[str, object]) -> None:
    assert ask(server, "PATCH", f"{QUOTAS}/{name}/status", {"status": status}, headers=MERGE).status == 200
