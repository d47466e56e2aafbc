"""A key management service that hangs: what it has encrypted cannot be read meanwhile, and all else goes on."""

from __future__ import annotations

import json
from pathlib import Path

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.encryption.etcd import IDENTITY, configured, kms
from tests.integration.encryption.kms_process import Kms
from tests.integration.lifecycle.api import until
from tests.integration.server.client import ask, connect

SECRETS = "/api/v1/namespaces/default/secrets"
MAPS = "/api/v1/namespaces/default/configmaps"


def listed(server: ApiServer, path: str) -> list[str]:
    return [each["metadata"]["name"] for each in ask(server, "GET", path).json.get("items", ())]


def test_all_else_goes_on_and_no_event_is_skipped(tmp_path: Path, plugin: Kms) -> None:
    provider = kms("mock", plugin.socket)
    provider["kms"]["timeout"] = "1s"
    config = configured(tmp_path / "e.json", provider, IDENTITY)
    flags = "--controllers=-*", f"--encryption-provider-config={config}"
    with EmbeddedEtcd() as etcd, api_server(*flags, etcd_servers=etcd.endpoint) as one:
        before = ask(one, "GET", SECRETS).json["metadata"]["resourceVersion"]
        with api_server(*flags, etcd_servers=etcd.endpoint) as two:  # with a seed of its own
            plugin.tell(key="one", delay=3600)
            for path in (f"{SECRETS}", f"{MAPS}"):
                assert ask(two, "POST", path, {"metadata": {"name": "of-two"}}).status == 201
            until(lambda: "of-two" in listed(one, MAPS))  # behind the secret, in the same feed
        assert ask(one, "GET", "/readyz").status == 500
        assert b"failed to decrypt DEK" in ask(one, "GET", "/readyz/kms-provider-0").body
        until(lambda: "kms plugin does not answer provider=mock" in one.log_file.read_text())
        refused = ask(one, "GET", SECRETS)
        assert refused.status == 500 and "failed to decrypt DEK" in refused.json["message"]
        watched = ask(one, "GET", f"{SECRETS}?watch=1&timeoutSeconds=30&resourceVersion={before}")
        [event] = [json.loads(line) for line in watched.body.splitlines()]  # and no bookmark behind what is missing
        assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
        with api_server(*flags, etcd_servers=etcd.endpoint) as three:  # a start ends
            assert "of-two" in listed(three, MAPS)
        plugin.tell(key="one")
        until(lambda: "of-two" in listed(one, SECRETS))
        until(lambda: ask(one, "GET", "/readyz").status == 200)
        connection = connect(one)
        try:
            path = f"{SECRETS}?watch=1&timeoutSeconds=30&resourceVersion={before}"
            connection.request("GET", path, headers={"Authorization": f"Bearer {one.token}"})
            event = json.loads(connection.getresponse().readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "of-two")
        finally:
            connection.close()
