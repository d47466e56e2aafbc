"""Calls a KMS plug-in: gRPC over a Unix socket."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import grpc
from grpc.aio import AioRpcError

from gateway.encryption import metrics
from gateway.encryption.kms.messages import (
    Encrypted,
    Status,
    decode_encrypted,
    decode_first,
    decode_status,
    encode_decrypt,
    encode_encrypt,
)
from gateway.schema.protobuf_wire import ProtobufError

_METHOD = "/v2.KeyManagementService/"
_OPTIONS = [("grpc.enable_http_proxy", 0), ("grpc.initial_reconnect_backoff_ms", 100)]
_ABSTRACT = "@"

T = TypeVar("T")


class KmsError(Exception):
    """A call failed. The message is for logs and clients; `code` is the name of the gRPC status code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class KmsService:
    """The methods of a plug-in. Make and use it on one event loop; it connects at the first call."""

    def __init__(self, name: str, path: str, timeout: float) -> None:
        """`path` is that of the socket; "/@NAME" is an abstract socket. `timeout` is that of each call, in seconds."""
        self.name, self.timeout = name, timeout
        abstract = path.removeprefix("/") if path.startswith(f"/{_ABSTRACT}") else ""
        target = f"unix-abstract:{abstract.removeprefix(_ABSTRACT)}" if abstract else f"unix:{path}"
        self._channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        self._calls: dict[str, Any] = {}

    async def status(self) -> Status:
        """The plug-in's status. Raises KmsError."""
        return await self._call("Status", b"", decode_status)

    async def encrypt(self, plaintext: bytes, uid: str) -> Encrypted:
        """Encrypts bytes; `uid` identifies the request. Raises KmsError."""
        return await self._call("Encrypt", encode_encrypt(plaintext, uid), decode_encrypted)

    async def decrypt(self, ciphertext: bytes, uid: str, key_id: str, annotations: Mapping[str, bytes]) -> bytes:
        """Decrypts bytes of `encrypt`, with the key ID and annotations that it returned. Raises KmsError."""
        return await self._call("Decrypt", encode_decrypt(ciphertext, uid, key_id, annotations), decode_first)

    async def close(self) -> None:
        """Disconnects."""
        await self._channel.close()

    async def _call(self, method: str, request: bytes, decode: Callable[[bytes], T]) -> T:
        call = self._calls.get(method)
        if call is None:
            call = self._calls[method] = self._channel.unary_unary(f"{_METHOD}{method}")
        began, code = time.monotonic(), "OK"
        try:
            return decode(await call(request, timeout=self.timeout))
        except AioRpcError as error:
            code = _NAMES.get(error.code(), "Unknown")
            raise KmsError(f"rpc error: code = {code} desc = {error.details()}", code) from None
        except ProtobufError as error:
            code = "Internal"
            raise KmsError(f"rpc error: code = {code} desc = {error}", code) from None
        except Exception as error:  # from gRPC itself: callers that retry handle only KmsError
            code = "Internal"
            raise KmsError(f"rpc error: code = {code} desc = {type(error).__name__}: {error}", code) from error
        finally:
            seconds = time.monotonic() - began
            metrics.KMS_SECONDS.labels(self.name, f"{_METHOD}{method}", code).observe(seconds)


_NAMES = {code: "".join(part.capitalize() for part in code.name.split("_")) for code in grpc.StatusCode}
