"""The Secret in the root with the credentials of one control plane: its administrator's token, the key of its tokens,
and the CA of its clients' certificates.
"""

from __future__ import annotations

import secrets
from base64 import b64decode, b64encode

from gateway.access.keys import new_key
from gateway.clusters.definition import GROUP, KIND, VERSION, ClusterDefinition
from gateway.credentials.certificates import Authority, new_authority
from gateway.credentials.kubeconfig import kubeconfig
from gateway.jsontypes import JsonObject
from gateway.pem import certificates_in
from gateway.settings.config import Settings
from gateway.settings.control_planes import ClusterCredentials, authority_of

NAMESPACE = "kube-system"
_TOKEN, _KEY, _KUBECONFIG, _CA = "token", "service-account.key", "kubeconfig", "ca.crt"
_CLIENT_CA, _CLIENT_CA_KEY = "client-ca.crt", "client-ca.key"  # of no other use than for its clients' certificates


def name_of(control_plane: str) -> str:
    """The name of the Secret."""
    return f"control-plane-{control_plane}"


def new_secret(settings: Settings, of: ClusterDefinition, url: str) -> JsonObject:
    """A Secret with new credentials, without kind and apiVersion. It is deleted with its control plane. Raises OSError,
    also if the file of the CA has no certificate.
    """
    token, certificates = secrets.token_urlsafe(32), present_ca(settings)
    config = kubeconfig(url, certificates, token)
    owner = {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "name": of.name, "uid": of.uid}
    texts = {_TOKEN: token.encode(), _KEY: new_key(), _KUBECONFIG: config.encode(), _CA: certificates}
    secret: JsonObject = {
        "metadata": {"name": name_of(of.name), "namespace": NAMESPACE, "ownerReferences": [owner]},
        "type": f"{GROUP}/control-plane",
        "data": {name: b64encode(text).decode() for name, text in texts.items()},
    }
    add_authority(secret, new_client_authority(of))
    return secret


def new_client_authority(of: ClusterDefinition) -> Authority:
    """A new CA for certificates of a control plane's clients. The CA's name has the uid of the control plane, so it is
    unique.
    """
    return new_authority(name=f"control-plane-{of.uid}")


def lacks_authority(secret: JsonObject) -> bool:
    """Whether a Secret has no CA for clients: an earlier version of the server has made it."""
    data = secret.get("data") or {}
    return _TOKEN in data and _KEY in data and not (_CLIENT_CA in data and _CLIENT_CA_KEY in data)


def add_authority(secret: JsonObject, authority: Authority) -> None:
    """Puts a CA for clients into a Secret."""
    for name, text in ((_CLIENT_CA, authority.certificate), (_CLIENT_CA_KEY, authority.key)):
        secret["data"][name] = b64encode(text).decode()


def present_ca(settings: Settings) -> bytes:
    """The certificates, in PEM, by which clients trust the server now. Raises OSError, also if there are none."""
    authority = authority_of(settings)
    certificates = certificates_in(authority.read_bytes())
    if not certificates:
        raise OSError(f"{authority} has no certificate")
    return certificates


def follow_ca(secret: JsonObject, ca: bytes) -> bool:
    """Puts the present CA in the place of the former one, which the Secret names, also in the kubeconfig. Returns
    whether anything is changed. Other changes of the kubeconfig stay.
    """
    data = secret.get("data") or {}
    former, present = str(data.get(_CA, "")), b64encode(ca).decode()
    if former in ("", present):
        return False
    try:
        config = b64decode(data.get(_KUBECONFIG, "")).replace(former.encode(), present.encode())
    except ValueError:
        return False
    data[_CA], data[_KUBECONFIG] = present, b64encode(config).decode()
    return True


def credentials_in(secret: JsonObject, of: ClusterDefinition) -> ClusterCredentials | None:
    """The credentials in a Secret; None if it is of another control plane, or incomplete."""
    data = secret.get("data") or {}
    owners = secret["metadata"].get("ownerReferences") or ()
    if _TOKEN not in data or _KEY not in data or of.uid not in [each["uid"] for each in owners]:
        return None
    try:
        texts = [b64decode(data.get(name, "")).decode() for name in (_TOKEN, _KEY, _CLIENT_CA, _CLIENT_CA_KEY)]
        return ClusterCredentials(*texts) if texts[0] and texts[1] else None
    except ValueError:
        return None
