"""Two ConfigMaps of kube-system: the CAs by which other components authenticate requests, and the tracking of legacy
service account tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from gateway.controllers.bootstrap_objects import BootstrapObject
from gateway.credentials.front_proxy import CA_FILE, NAME, is_own
from gateway.jsontypes import JsonObject
from gateway.pem import blocks
from gateway.schema.outside import read_json
from gateway.settings.config import Settings

AUTHENTICATION = "extension-apiserver-authentication"
LEGACY_TOKENS = "kube-apiserver-legacy-service-account-token-tracking"


def access_objects(settings: Settings, now: str) -> Iterator[BootstrapObject]:
    """The wanted ConfigMaps. That of authentication only if a CA is configured. `now` is RFC 3339. Raises OSError."""
    yield _map(LEGACY_TOKENS, {"since": now[:10]})
    data = authentication_data(settings)
    if data:
        yield _map(AUTHENTICATION, data)


def authentication_data(settings: Settings) -> dict[str, str]:
    """The ConfigMap's data: the CAs of clients and front proxies, and the proxies' headers. Raises OSError."""
    data: dict[str, str] = {}
    if settings.client_ca_file:
        data["client-ca-file"] = settings.client_ca_file.read_text()
    uids = settings.requestheader_uid_headers
    proxies = [settings.requestheader_client_ca_file] if settings.requestheader_client_ca_file else []
    allowed = list(settings.requestheader_allowed_names)
    own = settings.cert_dir / CA_FILE
    if is_own(settings) and own.is_file():
        allowed.append(NAME)
        proxies.append(own)
        uids = uids or ("x-remote-uid",)
    if proxies:
        data["requestheader-client-ca-file"] = "".join(path.read_text() for path in proxies)
        for name, values in (
            ("allowed-names", allowed),
            ("username-headers", settings.requestheader_username_headers),
            ("uid-headers", uids),
            ("group-headers", settings.requestheader_group_headers),
            ("extra-headers-prefix", settings.requestheader_extra_headers_prefix),
        ):
            data[f"requestheader-{name}"] = json.dumps(list(values))
    return data


def with_authentication(present: JsonObject, wanted: JsonObject) -> JsonObject | None:
    """The ConfigMap with this server's data added to that of others; None if it has them already."""
    told = present.get("data") or {}
    data = {**told, **{name: _joined(name, told.get(name, ""), text) for name, text in wanted["data"].items()}}
    return None if data == told else {**present, "data": data}


def _joined(name: str, told: str, text: str) -> str:
    """The present value with the missing certificates (PEM) or names (a JSON list) of `text` added."""
    if name.endswith("-ca-file"):
        known, own = _certificates(told), _certificates(text)
        lacking = [each for each in own if each not in known]
        return told if not lacking else "".join(f"{each}\n" for each in (*known, *lacking))
    try:
        names = read_json((told or "[]").encode())
        lacking = [each for each in read_json(text.encode()) if each not in names]
    except ValueError:
        return text
    return told if told and not lacking else json.dumps([*names, *lacking])


def _certificates(text: str) -> list[str]:
    return [block.whole.decode() for block in blocks(text.encode()) if block.kind == "CERTIFICATE"]


def _map(name: str, data: dict[str, str]) -> BootstrapObject:
    content: JsonObject = {"metadata": {"name": name, "namespace": "kube-system"}, "data": data}
    return BootstrapObject("", "v1", "configmaps", content)
