"""Authentication by a front proxy and by bootstrap tokens, and how soon another replica knows of changed
credentials.
"""

from __future__ import annotations

import base64
import http.client
import itertools
import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from apiserver_gateway.testing import ask as administer
from gateway.access.signing_authority import new_request, now, read_authority
from gateway.credentials.certificates import new_authority
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.server.client import ask
from tests.limits import within
from tests.until import until

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proxies")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[ApiServer]:
    for name in ("proxies", "clients"):
        made = new_authority()
        (directory / f"{name}.crt").write_bytes(made.certificate)
        (directory / f"{name}.key").write_bytes(made.key)
    with api_server(
        f"--requestheader-client-ca-file={directory / 'proxies.crt'}",
        f"--client-ca-file={directory / 'clients.crt'}",
        "--requestheader-allowed-names=front",
        "--requestheader-username-headers=X-Name",
        "--requestheader-uid-headers=X-Remote-Uid",
        "--requestheader-group-headers=X-Circle",
        "--requestheader-extra-headers-prefix=X-More-",
        "--enable-bootstrap-token-auth",
    ) as running:
        yield running


def shown(server: ApiServer, directory: Path, authority: str, name: str, headers: Sequence[tuple[str, str]]) -> Any:
    """The user of a request with a client certificate and headers; {} if it is refused."""
    request, key = new_request(name, [])
    signed = read_authority(directory / f"{authority}.crt", directory / f"{authority}.key")
    file = directory / f"{authority}-{name}.pem"
    file.write_bytes(signed.sign(request, ("digital signature", "client auth"), timedelta(hours=1), now()) + key)
    context = ssl.create_default_context(cafile=str(server.ca_file))
    context.load_cert_chain(file)
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)
    try:
        connection.putrequest("POST", REVIEWS)
        for header in (*headers, ("Content-Type", "application/json"), ("Content-Length", "2")):
            connection.putheader(*header)
        connection.endheaders(b"{}")
        answer = connection.getresponse()
        found = json.loads(answer.read())
        return found["status"]["userInfo"] if answer.status == 201 else {}
    finally:
        connection.close()


HEADERS = [
    ("X-Name", "ada"),
    ("X-Remote-Uid", "7"),
    ("X-Circle", "people"),
    ("X-Circle", "others"),
    ("X-More-Example.org%2fscopes", "all"),
]


def test_a_front_proxy_says_who_it_is(server: ApiServer, directory: Path) -> None:
    assert shown(server, directory, "proxies", "front", HEADERS) == {
        "username": "ada",
        "uid": "7",
        "groups": ["people", "others", "system:authenticated"],
        "extra": {"example.org/scopes": ["all"]},
    }


def test_nobody_else_is_believed(server: ApiServer, directory: Path) -> None:
    assert shown(server, directory, "clients", "bob", HEADERS)["username"] == "bob"
    assert shown(server, directory, "clients", "front", HEADERS)["username"] == "front"
    assert shown(server, directory, "proxies", "other", HEADERS) == {}
    anonymous = ask(server, "GET", "/api/v1/pods", headers=dict(HEADERS), token=None)
    assert 'User "system:anonymous"' in anonymous.json["message"]


def test_a_bootstrap_token_lets_in_as_long_as_its_secret_says(server: ApiServer) -> None:
    data = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:workers",
    }
    place = "/api/v1/namespaces/kube-system/secrets"

    def write(changed: Mapping[str, str]) -> None:
        secret = {
            "metadata": {"name": "bootstrap-token-abcdef"},
            "type": "bootstrap.kubernetes.io/token",
            "data": {name: base64.b64encode(text.encode()).decode() for name, text in (data | changed).items()},
        }
        there = ask(server, "GET", f"{place}/bootstrap-token-abcdef").status == 200
        administer(server, "PUT" if there else "POST", f"{place}/bootstrap-token-abcdef" if there else place, secret)

    def user(token: str = "abcdef.0123456789abcdef") -> Any:
        answer = ask(server, "POST", REVIEWS, {}, token=token)
        return answer.json["status"]["userInfo"] if answer.status == 201 else None

    assert user() is None
    write({})
    groups = ["system:bootstrappers", "system:bootstrappers:workers", "system:authenticated"]
    assert user() == {"username": "system:bootstrap:abcdef", "groups": groups}
    assert user("abcdef.0123456789abcdee") is None
    for changed in (
        {"usage-bootstrap-authentication": "false"},
        {"expiration": "2020-01-01T00:00:00Z"},
        {"auth-extra-groups": "system:masters"},
    ):
        write(changed)
        assert user() is None, changed
    write({"expiration": "2100-01-01T00:00:00Z"})
    assert user() is not None
    administer(server, "DELETE", f"{place}/bootstrap-token-abcdef")
    assert user() is None


def test_what_the_answer_about_a_token_does_not_set_stays_as_it_was_sent(server: ApiServer) -> None:
    sent = {"authenticated": True, "user": {"username": "z"}, "audiences": ["a"], "error": "b"}
    path = REVIEWS.replace("selfsubjectreviews", "tokenreviews")
    unknown = ask(server, "POST", path, {"spec": {"token": "nobody's"}, "status": sent}).json["status"]
    assert unknown == {"user": {"username": "z"}, "audiences": ["a"], "error": "invalid bearer token"}
    known = ask(server, "POST", path, {"spec": {"token": server.token}, "status": sent}).json["status"]
    assert known["authenticated"] and known["user"]["username"] != "z" and known["error"] == "b"


def test_a_change_is_in_force_at_once_and_within_a_second_on_another_replica() -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    binding = {
        "metadata": {"name": "reading"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reading"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ada"}],
    }
    as_ada = {"Impersonate-User": "ada"}
    with (
        EmbeddedEtcd() as etcd,
        api_server(etcd_servers=etcd.endpoint) as one,
        api_server(etcd_servers=etcd.endpoint) as other,
    ):
        administer(one, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
        with ThreadPoolExecutor(1) as pool:  # the writes of both servers alternate
            writing = pool.submit(_write, other, 60)
            for turn in itertools.count():
                rules, status = ([], 403) if turn % 2 else ([rule], 200)
                administer(one, "PUT", f"{roles}/reading", {"metadata": {"name": "reading"}, "rules": rules})
                assert ask(one, "GET", "/api/v1/pods", headers=as_ada).status == status
                with within(1.0):
                    until(lambda: ask(other, "GET", "/api/v1/pods", headers=as_ada).status == status)  # noqa: B023
                if writing.done():
                    break


def _write(server: ApiServer, count: int) -> None:
    for _ in range(count):
        administer(server, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "some-"}})


def test_who_has_no_credentials_is_refused_where_all_may_do_everything(tmp_path: Path) -> None:
    with api_server("--authorization-mode=RBAC,AlwaysAllow", "--anonymous-auth=true") as open_to_all:
        for path in ("/api/v1/secrets", "/livez"):
            assert ask(open_to_all, "GET", path, token=None).status == 401
            assert ask(open_to_all, "GET", path).status == 200
        said = "requests without credentials are refused: --authorization-mode has AlwaysAllow"
        assert said in open_to_all.log_file.read_text()
    (configuration := tmp_path / "authentication.yaml").write_text(
        "{apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration, anonymous: {enabled: true}}"
    )
    flags = ("--authorization-mode=AlwaysAllow", f"--authentication-config={configuration}")
    with api_server(*flags) as said_to_be_open:
        assert ask(said_to_be_open, "GET", "/api/v1/secrets", token=None).status == 200
