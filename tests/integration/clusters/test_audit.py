"""The audit log of the server has the events of all control planes, each with the name."""

from __future__ import annotations

from pathlib import Path

from apiserver_gateway.testing import ask
from tests.forked import api_server
from tests.integration.server.client import ask as raw
from tests.logged import documents
from tests.until import until

POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  resources: [{group: "", resources: [configmaps]}]
  verbs: [create]
"""
MAPS = "/api/v1/namespaces/default/configmaps"


def test_events_name_the_control_plane(tmp_path: Path) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(POLICY)
    flags = f"--audit-policy-file={policy}", f"--audit-log-path={log}"
    with api_server("--control-planes", *flags) as server, server.cluster("one") as one, server.cluster("two") as two:
        for place, name in ((server, "of-root"), (one, "of-one"), (two, "of-two")):
            ask(place, "POST", MAPS, {"metadata": {"name": name}})
        until(lambda: len(found(log)) == 3)
        assert found(log) == {"of-root": None, "of-one": "one", "of-two": "two"}
        two.delete()
        ask(one, "POST", MAPS, {"metadata": {"name": "later"}})
        until(lambda: found(log).get("later") == "one")


REFUSALS = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  resources: [{group: "", resources: [secrets]}]
  verbs: [list]
"""
SECRETS = "/api/v1/namespaces/default/secrets?probe"


def test_requests_that_do_not_wake_a_control_plane_are_recorded(tmp_path: Path) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(REFUSALS)
    flags = f"--audit-policy-file={policy}", f"--audit-log-path={log}"
    with api_server("--control-planes", *flags) as server, server.cluster("one") as one, server.cluster("two") as two:
        for name, token, code in (
            ("one", "unknown", 401),
            ("one", two.token, 401),
            ("one", server.token, 401),
            ("one", None, 403),
            ("none", one.token, 404),
        ):
            before = len(refusals(log))
            assert raw(server, "GET", f"/clusters/{name}{SECRETS}", token=token).status == code
            until(lambda before=before: len(refusals(log)) > before)  # type: ignore[misc]
            assert refusals(log)[before:] == [(name, code, "list")]


def refusals(log: Path) -> list[tuple[str, int, str]]:
    """The control plane, the status code and the verb of each event about Secrets."""
    return [
        (each["annotations"]["apiserver-gateway.dev/control-plane"], each["responseStatus"]["code"], each["verb"])
        for each in documents(log)
        if each["requestURI"] == SECRETS
    ]


def found(log: Path) -> dict[str, str | None]:
    """The control plane of each event, by the name of the object that the request has made."""
    named = [each for each in documents(log) if (each["objectRef"].get("name") or "").startswith(("of-", "later"))]
    return {each["objectRef"]["name"]: each["annotations"].get("apiserver-gateway.dev/control-plane") for each in named}
