"""The Secrets that gateways and etcd members share when they run as pods.

Each is made once. Existing entries stay, missing ones are added, and etcd's certificates are renewed after half of
their lifetime.
"""

from __future__ import annotations

import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from gateway.access.keys import KEY_FILE, new_key
from gateway.access.signing_authority import SigningAuthority, SigningError, load_authority, new_request, now
from gateway.credentials.certificates import ADDRESSES, VALIDITY, new_authority
from gateway.credentials.identity import TOKEN_FILE
from gateway.credentials.kubeconfig import kubeconfig
from gateway.jsontypes import JsonObject
from gateway.transfer.cluster import ApiError, RemoteCluster

CA, CA_KEY = "ca.crt", "ca.key"
CERTIFICATE, KEY = "tls.crt", "tls.key"
MEMBERS = "members"  # a key beside the members' certificate: the number of members when the cluster was made
ATTEMPTS = 5  # to write a Secret, if others write it at the same time
KEPT = {"helm.sh/resource-policy": "keep"}  # helm does not delete a Secret that has left the release
_CONFLICT, _NOT_FOUND = 409, 404
_TLS = "kubernetes.io/tls"
_PEER = ("digital signature", "server auth", "client auth")
_CLIENT = ("digital signature", "client auth")

Data = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class WantedSecrets:
    """The Secrets to make; their names begin with `name`."""

    name: str
    server: str  # the URL in the administrator's kubeconfig
    token: str = ""  # the administrator's; if "", the stored one, or a new one
    authority: bool = True  # a CA that gateways sign their certificates with
    signing_key: bool = True  # a key that signs service account tokens
    trusted: str = ""  # without an authority: a Secret; the kubeconfig trusts its ca.crt once it exists
    etcd: str = ""  # NAME, if the members are NAME-0.DOMAIN and so on; "" for no etcd
    etcd_domain: str = ""
    validity: timedelta = VALIDITY
    metrics: bool = False  # a token that may only read metrics
    etcd_members: int | None = None  # their number, which cannot change once the cluster exists


class Namespace:
    """The Secrets of a namespace; new ones get `labels`. Methods raise ApiError and Unreachable."""

    def __init__(self, cluster: RemoteCluster, name: str, labels: Mapping[str, str]) -> None:
        self._cluster, self._labels = cluster, dict(labels)
        self._path = f"/api/v1/namespaces/{name}/secrets"

    async def read(self, name: str) -> JsonObject | None:
        """The Secret, None if it does not exist."""
        try:
            return await self._cluster.ask("GET", f"{self._path}/{name}")
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    async def keep(self, name: str, kind: str, filled: Callable[[Data], Data]) -> Data:
        """Creates or updates a Secret and returns its new data. `filled` gets the stored data, {} for a missing Secret,
        and returns the new data. After a conflict it is called again with the new content.
        """
        for left in reversed(range(ATTEMPTS)):
            found = await self.read(name)
            held = data_of(found)
            data = filled(held)
            if found is not None and data == held and KEPT.items() <= annotations_of(found).items():
                break
            try:
                await self._write(name, kind, found, data)
                break
            except ApiError as error:
                if error.status != _CONFLICT or not left:
                    raise
        return data

    async def _write(self, name: str, kind: str, found: JsonObject | None, data: Data) -> None:
        encoded = {key: b64encode(value).decode() for key, value in data.items()}
        if found is not None:
            metadata = {**found["metadata"], "annotations": {**annotations_of(found), **KEPT}}
            await self._cluster.ask("PUT", f"{self._path}/{name}", {**found, "metadata": metadata, "data": encoded})
            return
        metadata = {"name": name, "labels": self._labels, "annotations": KEPT}
        secret = {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": metadata, "data": encoded}
        await self._cluster.ask("POST", self._path, secret)


def data_of(secret: JsonObject | None) -> Data:
    """The data of a Secret, decoded from base64; {} for None."""
    return {key: b64decode(value) for key, value in ((secret or {}).get("data") or {}).items()}


def annotations_of(secret: JsonObject) -> dict[str, str]:
    """The annotations of a Secret."""
    return secret["metadata"].get("annotations") or {}


async def make(wanted: WantedSecrets, namespace: Namespace) -> None:
    """Makes missing Secrets. Raises ApiError, Unreachable, and ValueError for a stored CA that is invalid."""
    identity = await namespace.keep(f"{wanted.name}-identity", "Opaque", lambda held: _identity(wanted, held))
    trusted = identity
    if not wanted.authority:
        trusted = data_of(await namespace.read(wanted.trusted)) if wanted.trusted else {}
    text = kubeconfig(wanted.server, trusted.get(CA, b""), identity[TOKEN_FILE].decode()).encode() + b"\n"
    await namespace.keep(f"{wanted.name}-kubeconfig", "Opaque", lambda _: {"kubeconfig": text})
    if wanted.metrics:
        await namespace.keep(f"{wanted.name}-metrics", "Opaque", _metrics)
    if wanted.etcd:
        await _make_etcd(wanted, namespace)


def _metrics(held: Data) -> Data:
    """A token for the scraper, and a file for --token-auth-file with it. The token's group may read /metrics."""
    token = held.get("token") or secrets.token_urlsafe(24).encode()
    return {**held, "token": token, "tokens.csv": token + b',apiserver-gateway-metrics,metrics,"system:monitoring"\n'}


def _identity(wanted: WantedSecrets, held: Data) -> Data:
    data = dict(held)
    if wanted.token or not data.get(TOKEN_FILE):
        data[TOKEN_FILE] = (wanted.token or secrets.token_urlsafe(24)).encode()
    if wanted.authority and not (data.get(CA) and data.get(CA_KEY)):
        data |= _authority(wanted.validity)
    if wanted.signing_key and not data.get(KEY_FILE):
        data[KEY_FILE] = new_key()
    return data


def _authority(validity: timedelta) -> Data:
    made = new_authority(validity)
    return {CA: made.certificate, CA_KEY: made.key}


async def _make_etcd(wanted: WantedSecrets, namespace: Namespace) -> None:
    """Makes a CA for etcd, one certificate for all members (for peers and clients), and one for the gateways.

    If the certificates exist without this CA, another program made and renews them; they are kept. Raises ValueError if
    the number of members has changed: additional members would not join, but start an empty etcd.
    """
    names = [f"{wanted.etcd}-{which}" for which in ("ca", "member", "client")]
    ca, member_there, client_there = [await namespace.read(name) is not None for name in names]
    if member_there and client_there and not ca:
        await namespace.keep(names[1], _TLS, lambda held: _counted(wanted, held))
        await namespace.keep(names[2], _TLS, lambda held: held)
        return
    kept = await namespace.keep(
        f"{wanted.etcd}-ca", "Opaque", lambda held: held if held.get(CA_KEY) else _authority(wanted.validity)
    )
    domain = wanted.etcd_domain
    hosts = ("localhost", *ADDRESSES, domain, f"*.{domain}", f"*.{domain}.cluster.local")
    issuer = _Issuer(load_authority(kept[CA], kept[CA_KEY]), kept[CA], wanted.validity)
    member = partial(issuer.kept, subject=wanted.etcd, hosts=hosts, usages=_PEER)
    client = partial(issuer.kept, subject=f"{wanted.etcd}-client", hosts=(), usages=_CLIENT)
    await namespace.keep(f"{wanted.etcd}-member", _TLS, lambda held: _counted(wanted, member(held)))
    await namespace.keep(f"{wanted.etcd}-client", _TLS, client)


def _counted(wanted: WantedSecrets, held: Data) -> Data:
    """The data with the number of members at the start of the cluster. Raises ValueError if that differs from
    `wanted.etcd_members`.
    """
    if wanted.etcd_members is None:
        return held
    made = held.get(MEMBERS, b"").decode() or str(wanted.etcd_members)
    if made != str(wanted.etcd_members):
        raise ValueError(
            f"{wanted.etcd} was created with {made} members, not {wanted.etcd_members}; the number cannot be changed: "
            f"set it back to {made}, or move the data into a new release with `apiserver-gateway backup` and `restore`"
        )
    return {**held, MEMBERS: made.encode()}


@dataclass(frozen=True, slots=True)
class _Issuer:
    authority: SigningAuthority
    certificate: bytes
    validity: timedelta

    def kept(self, held: Data, subject: str, hosts: Sequence[str], usages: Sequence[str]) -> Data:
        """The held data. A certificate of another CA, or one that is past half of its lifetime, is replaced. Raises
        ValueError if the CA cannot sign.
        """
        if held.get(CA) == self.certificate and _is_young(held):
            return held
        request, key = new_request(subject, hosts=hosts)
        try:
            signed = self.authority.sign(request, usages, self.validity, now())
        except SigningError as error:
            raise ValueError(str(error)) from None
        return {**held, CA: self.certificate, CERTIFICATE: signed, KEY: key}


def _is_young(held: Data) -> bool:
    """Whether there is a certificate that is not past half of its lifetime."""
    from cryptography import x509

    if not (held.get(CERTIFICATE) and held.get(KEY)):
        return False
    certificate = x509.load_pem_x509_certificate(held[CERTIFICATE])
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now() < start + (end - start) / 2
