"""The identity that all replicas share: the CA, the key for service account tokens, and an administrator's token.

It is made once and stored in --cert-dir. Replicas without a common directory share it through etcd: with
--identity-key-file the first one stores it there, encrypted with that file's secret, and the others copy it.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateway import children
from gateway.access.keys import KEY_FILE, new_key
from gateway.credentials.certificates import Authority, keep_authority, new_authority
from gateway.files import create_file, exclusive, replace_file
from gateway.settings.config import Settings

if TYPE_CHECKING:
    from storage.etcd import EtcdClient

TOKEN_FILE = "admin-token"
_COST = 2**15  # scrypt's N: about 0.1 s and 32 MiB for each guess of the secret


class IdentityError(Exception):
    """The shared identity cannot be fetched or stored; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class SharedIdentity:
    """The shared keys and certificate, in PEM, and the token."""

    ca_certificate: str
    ca_key: str
    service_account_key: str
    admin_token: str


def kept_token(directory: Path) -> str:
    """The administrator's token in `directory`; made if there is none. Raises OSError."""
    path = directory / TOKEN_FILE
    if not path.is_file():  # a directory with a token may be read-only
        directory.mkdir(parents=True, exist_ok=True)
        create_file(path, secrets.token_urlsafe(24).encode() + b"\n")
    return path.read_text(encoding="ascii").strip()


def keep(directory: Path, identity: SharedIdentity) -> None:
    """Stores an identity in `directory`. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    with exclusive(directory):
        keep_authority(directory, Authority(identity.ca_certificate.encode(), identity.ca_key.encode()))
        replace_file(directory / KEY_FILE, identity.service_account_key.encode())
        replace_file(directory / TOKEN_FILE, identity.admin_token.encode() + b"\n")


def own(directory: Path) -> SharedIdentity:
    """The identity in `directory`. Missing parts are made, but not stored. Raises OSError."""

    def kept(name: str) -> str:
        path = directory / name
        return path.read_text(encoding="ascii") if path.is_file() else ""

    certificate, key = kept("ca.crt"), kept("ca.key")
    if not (certificate and key):
        authority = new_authority()
        certificate, key = authority.certificate.decode(), authority.key.decode()
    token = kept(TOKEN_FILE).strip() or secrets.token_urlsafe(24)
    return SharedIdentity(certificate, key, kept(KEY_FILE) or new_key().decode(), token)


def seal(identity: SharedIdentity, secret: bytes) -> bytes:
    """Encrypts an identity with AES-256-GCM, with a key that scrypt derives from the secret; returns JSON."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = AESGCM(_key(secret, salt)).encrypt(nonce, json.dumps(asdict(identity)).encode(), None)
    parts = {"salt": salt, "nonce": nonce, "sealed": sealed}
    return json.dumps({"version": 1, **{name: b64encode(part).decode() for name, part in parts.items()}}).encode()


def unseal(value: bytes, secret: bytes) -> SharedIdentity:
    """Decrypts the result of `seal`. Raises IdentityError for another secret or an invalid value."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        parts = json.loads(value)
        salt, nonce, sealed = (b64decode(parts[name]) for name in ("salt", "nonce", "sealed"))
        return SharedIdentity(**json.loads(AESGCM(_key(secret, salt)).decrypt(nonce, sealed, None)))
    except InvalidTag:
        raise IdentityError(
            "the identity in etcd was encrypted with another secret than --identity-key-file has; "
            "give all replicas the same file"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise IdentityError(f"the identity in etcd can't be read: {error}") from None


def _key(secret: bytes, salt: bytes) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt, length=32, n=_COST, r=8, p=1).derive(secret)


def shared_key(settings: Settings) -> str:
    """The etcd key of the shared identity."""
    return f"{settings.etcd_prefix}/apiserver-gateway/identity"


async def store_again(settings: Settings, client: EtcdClient, secret: bytes) -> None:
    """Stores this server's identity in etcd again, if etcd no longer has it, as when an empty etcd replaced it.

    Raises StorageError, OSError, and IdentityError if etcd has another identity, or `--cert-dir` has none.
    """
    key = shared_key(settings).encode()
    if not all((settings.cert_dir / name).is_file() for name in ("ca.crt", "ca.key", KEY_FILE, TOKEN_FILE)):
        raise IdentityError(f"the identity in {settings.cert_dir} is incomplete")
    mine = await asyncio.to_thread(own, settings.cert_dir)
    found = await client.get(key)
    if found is None:
        await client.create(key, await asyncio.to_thread(seal, mine, secret))  # does nothing if it exists by now
        found = await client.get(key)
    if found is not None and await asyncio.to_thread(unseal, found.value, secret) != mine:
        raise IdentityError("etcd has the identity of other servers, whose tokens are refused here: restart this one")


def take_shared(settings: Settings, secret: bytes) -> None:
    """Fetches the shared identity from etcd, or stores this server's there, and keeps it in `--cert-dir`. Raises
    IdentityError and OSError.

    A separate process talks to etcd, since gRPC does not survive the fork that makes workers.
    """
    etcd = settings.etcd()
    question = {
        "etcd": {name: getattr(etcd, name) for name in ("endpoints", "username", "password")}
        | {name: str(path) if (path := getattr(etcd, name)) else "" for name in ("ca_file", "cert_file", "key_file")},
        "key": shared_key(settings),
        "server": os.getppid(),  # this process is a child of the server
        "proposal": b64encode(seal(own(settings.cert_dir), secret)).decode(),
    }
    asked = subprocess.run(
        children.command("gateway.credentials.identity_exchange"),
        input=json.dumps(question).encode(),
        capture_output=True,
        check=False,
    )
    if asked.returncode:
        said = asked.stderr.decode(errors="replace").strip().splitlines()
        raise IdentityError(f"cannot share an identity through etcd: {said[-1] if said else asked.returncode}")
    keep(settings.cert_dir, unseal(asked.stdout, secret))
