"""A KMS plug-in as a process of its own: python -m tests.integration.encryption.kms_plugin SOCKET STATE

STATE is a JSON file that is looked at for each call: `key` names the key that encrypts, `health` is what the plug-in
says of itself, `delay` the seconds that each call takes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import grpc
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gateway.encryption.kms.messages import (
    Encrypted,
    Status,
    decode_decrypt,
    decode_first,
    encode_encrypted,
    encode_first,
    encode_status,
)


class Plugin:
    """Encrypts with keys that are derived from their names."""

    def __init__(self, state: Path) -> None:
        self._state = state

    async def _now(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self._state.read_text())
        await asyncio.sleep(state.get("delay", 0))
        return state

    async def status(self, request: bytes, context: Any) -> bytes:
        state = await self._now()
        return encode_status(Status("v2", state.get("health", "ok"), state["key"]))

    async def encrypt(self, request: bytes, context: Any) -> bytes:
        key, nonce = (await self._now())["key"], os.urandom(12)
        sealed = nonce + _cipher(key).encrypt(nonce, decode_first(request), None)
        return encode_encrypted(Encrypted(sealed, key, {"version.encryption.example.com": b"1"}))

    async def decrypt(self, request: bytes, context: Any) -> bytes:
        await self._now()
        asked = decode_decrypt(request)
        assert asked.annotations == {"version.encryption.example.com": b"1"}
        return encode_first(_cipher(asked.key_id).decrypt(asked.ciphertext[:12], asked.ciphertext[12:], None))


def _cipher(key: str) -> AESGCM:
    return AESGCM(hashlib.sha256(key.encode()).digest())


async def serve(socket: str, state: Path) -> None:
    plugin, server = Plugin(state), grpc.aio.server()
    handlers = {
        "Status": grpc.unary_unary_rpc_method_handler(plugin.status),
        "Encrypt": grpc.unary_unary_rpc_method_handler(plugin.encrypt),
        "Decrypt": grpc.unary_unary_rpc_method_handler(plugin.decrypt),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v2.KeyManagementService", handlers),))
    server.add_insecure_port(f"unix:{socket}")
    await server.start()
    print("ready", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))
