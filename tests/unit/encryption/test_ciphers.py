"""Ciphers decrypt what they have encrypted, and refuse changed values and values of other etcd keys."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.encryption.ciphers import AesCbc, AesGcm, Secretbox
from gateway.encryption.kms.messages import EncryptedObject, decode_object
from gateway.encryption.provider import CannotDecrypt, IdentityTransformer, KeyedProvider, ProviderChain
from gateway.schema.protobuf_wire import ProtobufError

ALL = [AesCbc("k", b"s" * 32), AesGcm("k", b"s" * 32), Secretbox("k", b"s" * 32)]
ETCD_KEY = b"/registry/secrets/ns/name"


async def test_ciphers_give_back_what_they_were_given() -> None:
    for cipher in ALL:
        for size in (0, 1, 15, 16, 17, 4096):
            value = bytes(range(256)) * 16
            sealed = await cipher.encrypt(value[:size], ETCD_KEY)
            assert await cipher.decrypt(sealed, ETCD_KEY) == (value[:size], False)
            assert sealed != await cipher.encrypt(value[:size], ETCD_KEY)


@pytest.mark.parametrize("cipher", ALL[1:], ids=["aesgcm", "secretbox"])
async def test_a_changed_value_is_refused(cipher: Any) -> None:
    sealed = bytearray(await cipher.encrypt(b"value", ETCD_KEY))
    sealed[-1] ^= 1
    with pytest.raises(CannotDecrypt):
        await cipher.decrypt(bytes(sealed), ETCD_KEY)


async def test_aesgcm_knows_its_key_in_etcd() -> None:
    sealed = await ALL[1].encrypt(b"value", ETCD_KEY)
    with pytest.raises(CannotDecrypt, match="cipher: message authentication failed"):
        await ALL[1].decrypt(sealed, b"/registry/secrets/ns/other")


@given(st.binary(max_size=64))
def test_nothing_that_etcd_may_hold_raises_anything_else(data: bytes) -> None:
    for cipher in ALL:
        coroutine = cipher.decrypt(data, ETCD_KEY)
        with contextlib.suppress(StopIteration, CannotDecrypt):
            coroutine.send(None)
    with contextlib.suppress(ProtobufError):
        decode_object(data)


async def test_all_providers_decrypt_and_only_the_first_is_fresh() -> None:
    old, new = (KeyedProvider(b"k8s:enc:aesgcm:v1:", [AesGcm(name, name.encode() * 32)], "no key") for name in "ab")
    chain = ProviderChain("secrets", [new, old, IdentityTransformer()])
    assert await chain.decrypt(await chain.encrypt(b"v", ETCD_KEY), ETCD_KEY) == (b"v", False)
    assert await chain.decrypt(old.prefix + await old.encrypt(b"v", ETCD_KEY), ETCD_KEY) == (b"v", True)
    assert await chain.decrypt(b"{}", ETCD_KEY) == (b"{}", True)
    with pytest.raises(CannotDecrypt, match="no matching prefix found"):
        await ProviderChain("secrets", [new]).decrypt(b"{}", ETCD_KEY)
    with pytest.raises(CannotDecrypt, match="no key"):
        await chain.decrypt(b"k8s:enc:aesgcm:v1:z:xxxx", ETCD_KEY)


@given(st.binary(min_size=1), st.text(min_size=1), st.binary(min_size=1), st.dictionaries(st.text(), st.binary()))
def test_encrypted_objects_are_read_as_they_were_written(
    data: bytes, key_id: str, source: bytes, annotations: dict[str, bytes]
) -> None:
    written = EncryptedObject(data, key_id.encode(errors="replace").decode(), source, annotations)
    try:
        encoded = written.encode()
    except UnicodeEncodeError:
        return
    assert decode_object(encoded) == written
