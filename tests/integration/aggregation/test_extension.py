"""An extension API server behind a gateway: requests are sent in the user's name and streamed; namespaces are
emptied.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.aggregation.extension import GROUP, ROOT, TOLD, VERSION, Extension, extension
from tests.integration.server.client import ask, connect
from tests.until import until

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
AUTHENTICATION = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
HOOKS = (
    "autoregister-completion",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/storage-readiness",
)


def registered(name: str, port: int, bundle: str) -> dict[str, object]:
    version, _, group = name.partition(".")
    service = {"namespace": "default", "name": "ext", "port": port}
    priorities = {"groupPriorityMinimum": 100, "versionPriority": 10}
    spec = {"group": group, "version": version, "service": service, "caBundle": bundle, **priorities}
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name}, "spec": spec}


def is_available(server: ApiServer, name: str) -> bool:
    found = ask(server, "GET", f"{SERVICES}/{name}").json.get("status") or {}
    return any(each["status"] == "True" for each in found.get("conditions") or ())


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as made:
        yield made


@pytest.fixture(scope="module")
def ext(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extension]:
    """The extension API server, available. It trusts only the front proxy CA that is published in the cluster."""
    proxies = ask(server, "GET", AUTHENTICATION).json["data"]["requestheader-client-ca-file"]
    with extension(tmp_path_factory.mktemp("extension"), proxies) as made:
        spec = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": made.port}]}
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "ext"}, "spec": spec}
        assert ask(server, "POST", "/api/v1/namespaces/default/services", body).status == 201
        assert ask(server, "POST", SERVICES, registered(f"v1.{GROUP}", made.port, made.ca_bundle)).status == 201
        until(lambda: is_available(server, f"v1.{GROUP}"))
        yield made


def thing(name: str, size: int = 0) -> dict[str, object]:
    return {"apiVersion": VERSION, "kind": "Thing", "metadata": {"name": name}, "spec": {"x": "y" * size}}


def test_it_is_asked_in_the_users_name_by_the_front_proxy(server: ApiServer, ext: Extension) -> None:
    forged = {"X-Remote-User": "root", "X-Remote-Group": "system:masters", "Impersonate-User": "ada"}
    allowed = {**forged, "Impersonate-Group": "system:masters"}
    assert ask(server, "GET", f"{ROOT}/namespaces/default/things", headers=forged).status == 403
    assert ask(server, "GET", f"{ROOT}/namespaces/default/things", headers=allowed).json["kind"] == "ThingList"
    of_things = [each for each in ext.asked if each[1].endswith("/default/things")]  # the prober asks meanwhile
    _, _, headers, proxy = of_things[-1]
    assert (headers["x-remote-user"], proxy) == ("ada", "front-proxy-client")
    assert "authorization" not in headers and "impersonate-user" not in headers


def test_large_bodies_are_passed_on_as_they_come(server: ApiServer, ext: Extension) -> None:
    body = thing("large", 5 << 20)
    answer = ask(server, "POST", f"{ROOT}/namespaces/default/things", body)
    assert answer.status == 201 and answer.json["size"] == len(json.dumps(body))


def test_a_watch_is_streamed(server: ApiServer, ext: Extension) -> None:
    ext.more.clear()
    connection = connect(server)
    try:
        headers = {"Authorization": f"Bearer {server.token}"}
        connection.request("GET", f"{ROOT}/namespaces/default/things?watch=1", headers=headers)
        response = connection.getresponse()
        assert json.loads(response.readline())["type"] == "ADDED"  # the server has not ended its answer yet
        ext.more.set()
        assert [json.loads(line)["type"] for line in response.read().splitlines()] == ["MODIFIED"]
    finally:
        connection.close()


def test_discovery_knows_its_resources(server: ApiServer, ext: Extension) -> None:
    def discovered() -> list[str]:
        items = ask(server, "GET", "/apis", headers={"Accept": AGGREGATED}).json["items"]
        found = [version for each in items if each["metadata"]["name"] == GROUP for version in each["versions"]]
        return [resource["resource"] for version in found for resource in version.get("resources", ())]

    until(lambda: discovered() == ["things"])
    assert GROUP in [each["name"] for each in ask(server, "GET", "/apis").json["groups"]]


def test_a_namespace_takes_along_what_it_has_there(server: ApiServer, ext: Extension) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short"}}
    assert ask(server, "POST", "/api/v1/namespaces", body).status == 201
    assert ask(server, "POST", f"{ROOT}/namespaces/short/things", thing("a")).status == 201
    assert ask(server, "DELETE", "/api/v1/namespaces/short").status == 200
    until(lambda: ask(server, "GET", "/api/v1/namespaces/short").status == 404, 120)
    assert "short/a" not in ext.things
    asked = [
        headers for method, path, headers, _ in ext.asked if method == "DELETE" and path.endswith("short/things/a")
    ]
    assert asked[0]["x-remote-user"] == "system:serviceaccount:kube-system:namespace-controller"


def owned(server: ApiServer, name: str, owner: dict[str, object]) -> None:
    """Creates a ConfigMap with an owner reference."""
    meta = {"name": name, "ownerReferences": [owner]}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    assert ask(server, "POST", CONFIG_MAPS, body).status == 201


def test_a_server_that_hangs_delays_no_garbage_of_others(server: ApiServer, ext: Extension) -> None:
    things = {"apiVersion": VERSION, "kind": "Thing"}
    assert ask(server, "POST", f"{ROOT}/namespaces/default/things", thing("owner")).status == 201
    ext.answering.clear()
    try:
        for number in range(40):  # more than there are workers
            owned(server, f"waits-{number}", {**things, "name": f"gone-{number}", "uid": f"u-{number}"})
        owned(server, "stays", {**things, "name": "owner", "uid": "u-default-owner"})
        owned(server, "goes", {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "u-nobody"})
        until(lambda: ask(server, "GET", f"{CONFIG_MAPS}/goes").status == 404)
        assert all(ask(server, "GET", f"{CONFIG_MAPS}/waits-{number}").status == 200 for number in range(40))
    finally:
        ext.answering.set()
    until(lambda: [each["metadata"]["name"] for each in _config_maps(server)] == ["stays"], 120)


def test_an_answer_has_to_begin_and_to_end_in_time(server: ApiServer, ext: Extension) -> None:
    """As in kube-apiserver: a client waits for its own timeout, and then learns that no answer came."""
    ext.answering.clear()
    try:
        late = ask(server, "GET", f"{ROOT}/namespaces/default/things?timeout=1s")
    finally:
        ext.answering.set()
    assert (late.status, late.json["reason"]) == (504, "Timeout")
    ext.more.clear()  # the events of a watch that is asked for as a list
    connection = connect(server)
    try:
        headers = {"Authorization": f"Bearer {server.token}"}
        connection.request("GET", f"{ROOT}/namespaces/default/things?timeout=3s&watch=0", headers=headers)
        response = connection.getresponse()
        assert json.loads(response.readline())["type"] == "ADDED"
        with pytest.raises(http.client.IncompleteRead):
            response.read()
    finally:
        ext.more.set()
        connection.close()


def test_an_owner_there_in_another_namespace_is_told_of(server: ApiServer, ext: Extension) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far"}}
    assert ask(server, "POST", "/api/v1/namespaces", namespace).status == 201
    owner = {"apiVersion": VERSION, "kind": "Thing", "name": TOLD["name"], "uid": TOLD["uid"]}
    meta = {"name": "child", "ownerReferences": [owner]}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}

    def messages() -> list[str]:
        assert ask(server, "POST", "/api/v1/namespaces/far/configmaps", body).status in (201, 409)
        events = ask(server, "GET", "/api/v1/namespaces/far/events").json["items"]
        return [each["message"] for each in events if each["reason"] == "OwnerRefInvalidNamespace"]

    until(lambda: bool(messages()))
    which = f"{VERSION}/Thing, namespace: far, name: told, uid: {TOLD['uid']}"
    assert messages()[0] == f'ownerRef [{which}] does not exist in namespace "far"'


def test_a_document_of_version_3_is_made_of_version_2(server: ApiServer, ext: Extension) -> None:
    def url() -> str:
        found = ask(server, "GET", "/openapi/v3").json["paths"]
        return str(found.get(ROOT.strip("/"), {}).get("serverRelativeURL", ""))

    until(lambda: bool(url()))
    answer = ask(server, "GET", url())
    assert (answer.status, answer.json["openapi"]) == (200, "3.0.0")
    assert answer.headers["cache-control"] == "public, immutable" and list(answer.json["paths"]) == [f"{ROOT}/things"]
    packed = ask(server, "GET", url(), headers={"Accept": "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"})
    assert packed.status == 200 and b"com.example.Thing" in packed.body
    assert ask(server, "GET", f"/openapi/v3{ROOT}?hash=X").headers["location"] == url()


def _config_maps(server: ApiServer) -> list[dict[str, dict[str, str]]]:
    found: list[dict[str, dict[str, str]]] = ask(server, "GET", CONFIG_MAPS).json["items"]
    return [each for each in found if each["metadata"]["name"] != "kube-root-ca.crt"]


def test_a_server_that_is_this_one_is_no_loop(server: ApiServer, ext: Extension) -> None:
    spec = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": server.port}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "self"}, "spec": spec}
    assert ask(server, "POST", "/api/v1/namespaces/default/services", body).status == 201
    own = registered("v1.self.example.com", server.port, "")
    own["spec"] = {**own["spec"], "insecureSkipTLSVerify": True, "caBundle": None}  # type: ignore[dict-item]
    own["spec"]["service"] = {"namespace": "default", "name": "self", "port": server.port}  # type: ignore[index]
    assert ask(server, "POST", SERVICES, own).status == 201
    until(lambda: bool(ask(server, "GET", f"{SERVICES}/v1.self.example.com").json["status"].get("conditions")))
    assert ask(server, "GET", "/apis/self.example.com/v1/things").status == 503
    assert ask(server, "DELETE", f"{SERVICES}/v1.self.example.com").status == 200


def test_a_request_that_has_passed_many_servers_goes_no_further(server: ApiServer, ext: Extension) -> None:
    """Each server adds its client to X-Forwarded-For, so that a request in a loop ends."""
    path = f"{ROOT}/namespaces/default/things?round"

    def passed(hops: int) -> int:
        return ask(server, "GET", path, headers={"X-Forwarded-For": ", ".join(["127.0.0.1"] * hops)}).status

    assert passed(3) == 200
    seen = [headers["x-forwarded-for"] for _, asked, headers, _ in ext.asked if asked.endswith("?round=")]
    assert [each.count("127.0.0.1") for each in seen] == [4]
    assert passed(33) == 508
    assert len([asked for _, asked, _, _ in ext.asked if asked.endswith("?round=")]) == 1


def test_health_checks_have_upstreams_names(server: ApiServer) -> None:
    until(lambda: ask(server, "GET", "/readyz").status == 200)
    answer = ask(server, "GET", "/readyz?verbose")
    assert answer.status == 200
    for name in HOOKS:
        assert f"[+]{name} ok" in answer.body.decode()


def test_metrics_tell_what_is_not_available(server: ApiServer, ext: Extension) -> None:
    assert ask(server, "POST", SERVICES, registered("v1.gone.example.com", 1, ext.ca_bundle)).status == 201

    def counted() -> bool:
        said = ask(server, "GET", "/metrics").body.decode()
        return (
            'aggregator_unavailable_apiservice{name="v1.gone.example.com"} 1' in said
            and f'aggregator_unavailable_apiservice{{name="v1.{GROUP}"}} 0' in said
            and 'aggregator_unavailable_apiservice_total{name="v1.gone.example.com"' in said
        )

    until(counted)
    assert ask(server, "DELETE", f"{SERVICES}/v1.gone.example.com").status == 200
