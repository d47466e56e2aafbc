"""The messages of the KMS v2 API, and the stored form of values: protobuf with a handful of fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.schema.protobuf_wire import BYTES, VARINT, ProtobufError, wire_fields

AES_GCM_KEY, SEED = 0, 1
"""What the KMS decrypts: the key of the value itself, or a seed from which the key is derived."""


@dataclass(frozen=True, slots=True)
class EncryptedObject:
    """A stored value (kube-apiserver's EncryptedObject): the encrypted data, and the encrypted seed with its key."""

    data: bytes
    key_id: str
    source: bytes  # the seed, encrypted by the service
    annotations: Mapping[str, bytes] = field(default_factory=dict)
    source_type: int = SEED

    def encode(self) -> bytes:
        """The protobuf encoding."""
        return b"".join(
            (
                _bytes(1, self.data),
                _bytes(2, self.key_id.encode()),
                _bytes(3, self.source),
                *(_entry(4, name, value) for name, value in sorted(self.annotations.items())),
                b"\x28" + _varint(self.source_type) if self.source_type else b"",
            )
        )


def decode_object(data: bytes) -> EncryptedObject:
    """Decodes a stored value. Raises ProtobufError."""
    found = _fields(data, repeated=4)
    annotations = dict(_pair(each) for each in found.maps)
    return EncryptedObject(
        found.values.get(1, b""), found.text(2), found.values.get(3, b""), annotations, found.numbers.get(5, 0)
    )


@dataclass(frozen=True, slots=True)
class Status:
    """A StatusResponse: the version of the API, "ok" or another health, and the ID of the current key."""

    version: str
    health: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Encrypted:
    """A seed that a service has encrypted."""

    ciphertext: bytes
    key_id: str
    annotations: Mapping[str, bytes]


def decode_status(data: bytes) -> Status:
    """A StatusResponse. Raises ProtobufError."""
    found = _fields(data)
    return Status(found.text(1), found.text(2), found.text(3))


def encode_status(status: Status) -> bytes:
    """A StatusResponse, as a service sends it."""
    return b"".join(
        _bytes(at, text.encode()) for at, text in enumerate((status.version, status.health, status.key_id), 1)
    )


def encode_encrypt(plaintext: bytes, uid: str) -> bytes:
    """An EncryptRequest."""
    return _bytes(1, plaintext) + _bytes(2, uid.encode())


def decode_encrypted(data: bytes) -> Encrypted:
    """An EncryptResponse. Raises ProtobufError."""
    found = _fields(data, repeated=3)
    return Encrypted(found.values.get(1, b""), found.text(2), dict(_pair(each) for each in found.maps))


def encode_encrypted(encrypted: Encrypted) -> bytes:
    """An EncryptResponse, as a service sends it."""
    entries = (_entry(3, name, value) for name, value in sorted(encrypted.annotations.items()))
    return b"".join((_bytes(1, encrypted.ciphertext), _bytes(2, encrypted.key_id.encode()), *entries))


def encode_decrypt(ciphertext: bytes, uid: str, key_id: str, annotations: Mapping[str, bytes]) -> bytes:
    """A DecryptRequest."""
    entries = (_entry(4, name, value) for name, value in sorted(annotations.items()))
    return b"".join((_bytes(1, ciphertext), _bytes(2, uid.encode()), _bytes(3, key_id.encode()), *entries))


def decode_first(data: bytes) -> bytes:
    """The first field: the plaintext of a DecryptResponse or an EncryptRequest. Raises ProtobufError."""
    return _fields(data).values.get(1, b"")


def decode_decrypt(data: bytes) -> Encrypted:
    """A DecryptRequest, as a service gets it. Raises ProtobufError."""
    found = _fields(data, repeated=4)
    return Encrypted(found.values.get(1, b""), found.text(3), dict(_pair(each) for each in found.maps))


def encode_first(value: bytes) -> bytes:
    """A DecryptResponse, as a service sends it."""
    return _bytes(1, value)


@dataclass(slots=True)
class _Found:
    values: dict[int, bytes]
    numbers: dict[int, int]
    maps: list[bytes]

    def text(self, number: int) -> str:
        try:
            return self.values.get(number, b"").decode()
        except UnicodeDecodeError:
            raise ProtobufError("string field contains invalid UTF-8") from None


def _fields(data: bytes, repeated: int = 0) -> _Found:
    found = _Found({}, {}, [])
    for number, wire, value in wire_fields(data):
        if wire == VARINT:
            found.numbers[number] = value
        elif wire == BYTES and number == repeated:
            found.maps.append(value)
        elif wire == BYTES:
            found.values[number] = value
    return found


def _pair(entry: bytes) -> tuple[str, bytes]:
    found = _fields(entry)
    return found.text(1), found.values.get(2, b"")


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def _bytes(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | BYTES]) + _varint(len(value)) + value if value else b""


def _entry(number: int, name: str, value: bytes) -> bytes:
    entry = _bytes(1, name.encode()) + _bytes(2, value)
    return bytes([number << 3 | BYTES]) + _varint(len(entry)) + entry
