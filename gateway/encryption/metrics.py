"""Metrics of encryption, under kube-apiserver's names."""

from __future__ import annotations

import hashlib
import time

from gateway.access.file_reload import show_digest
from storage.instruments import counter, exponential, gauge, histogram

FROM_STORAGE, TO_STORAGE = "from_storage", "to_storage"

OPERATIONS = counter(
    "apiserver_storage_transformation_operations_total",
    "Total number of transformations, by their outcome.",
    *("resource", "transformation_type", "transformer_prefix", "status"),
)
SECONDS = histogram(
    "apiserver_storage_transformation_duration_seconds",
    "Latencies in seconds of value transformation operations.",
    *("transformation_type", "transformer_prefix"),
    buckets=exponential(5e-6, 2, 25),
)
MISSES = counter(
    "apiserver_storage_envelope_transformation_cache_misses_total",
    "Data encryption keys that were not in memory, so that the KMS had to decrypt them.",
)
KEY_SECONDS = histogram(
    "apiserver_storage_data_key_generation_duration_seconds",
    "Latencies in seconds of data encryption key generation operations.",
    buckets=exponential(5e-6, 2, 14),
)
KEY_FAILURES = counter(
    "apiserver_storage_data_key_generation_failures_total",
    "Total number of failed data encryption key generation operations.",
)
KMS_SECONDS = histogram(
    "apiserver_envelope_encryption_kms_operations_latency_seconds",
    "KMS operation duration with gRPC error code status total.",
    *("provider_name", "method_name", "grpc_status_code"),
    buckets=exponential(0.0001, 2, 20),
)
KEY_IDS = counter(
    "apiserver_envelope_encryption_key_id_hash_total",
    "Number of times a key ID is used, by transformation type, provider and server.",
    *("transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
)
KEY_ID_TIMES = gauge(
    "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
    "The last time in seconds when a key ID was used.",
    *("transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
    across="max",
)
STATUS_TIMES = gauge(
    "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
    "The last time in seconds when a key ID was returned by the Status call.",
    *("provider_name", "key_id_hash", "apiserver_id_hash"),
    across="max",
)
INVALID_KEY_IDS = counter(
    "apiserver_envelope_encryption_invalid_key_id_from_status_total",
    "Number of times an invalid key ID was returned by the Status call, by error.",
    *("provider_name", "error"),
)
KNOWN_KEYS = gauge(
    "apiserver_envelope_encryption_dek_source_cache_size",
    "Data encryption keys in memory; the KMS has to decrypt as many after a start.",
    "provider_name",
)
RELOADS = counter(
    "apiserver_encryption_config_controller_automatic_reloads_total",
    "Total number of reload successes and failures of encryption configuration, by status and server.",
    *("status", "apiserver_id_hash"),
)
RELOADED_AT = gauge(
    "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last successful or failed reload of encryption configuration, by server.",
    *("status", "apiserver_id_hash"),
    across="max",
)
IN_FORCE = gauge(
    "apiserver_encryption_config_controller_last_config_info",
    "Digest of the encryption configuration that is in force.",
    *("apiserver_id_hash", "hash"),
    across="max",
)


def hashed(text: str) -> str:
    """The SHA-256 of a text that metrics and messages must not show, as "sha256:HEX"; "" for an empty text."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if text else ""


def transformed(resource: str, direction: str, prefix: bytes, seconds: float) -> None:
    """Counts a value that was encrypted or decrypted; `direction` is TO_STORAGE or FROM_STORAGE."""
    OPERATIONS.labels(resource, direction, prefix.decode(errors="replace"), "OK").inc()
    SECONDS.labels(direction, prefix.decode(errors="replace")).observe(seconds)


def failed(resource: str, direction: str, prefix: bytes) -> None:
    """Counts a value that could not be encrypted or decrypted."""
    OPERATIONS.labels(resource, direction, prefix.decode(errors="replace"), "unknown-non-grpc").inc()


def key_used(direction: str, provider: str, key_id: str, server: str) -> None:
    """Counts the use of a key of a KMS."""
    labels = direction, provider, hashed(key_id), hashed(server)
    KEY_IDS.labels(*labels).inc()
    KEY_ID_TIMES.labels(*labels).set(time.time())


def reloaded(server: str, *, success: bool) -> None:
    """Counts a reload of the configuration."""
    labels = "success" if success else "failure", hashed(server)
    RELOADS.labels(*labels).inc()
    RELOADED_AT.labels(*labels).set(time.time())


def in_force(server: str, digest: str) -> None:
    """Shows the digest of the configuration in force, and no older one."""
    show_digest(IN_FORCE, digest, hashed(server))
