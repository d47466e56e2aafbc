"""Counters of service account tokens: legacy tokens, and tokens used after the time that they were requested for."""

from __future__ import annotations

from storage.instruments import counter

_NAME = "serviceaccount_"

LEGACY = counter(f"{_NAME}legacy_tokens_total", "Uses of service account tokens without an audience.").labels()
MANUAL = counter(f"{_NAME}legacy_manual_token_uses_total", "Uses of tokens in Secrets that a client created.").labels()
AUTOMATIC = counter(
    f"{_NAME}legacy_auto_token_uses_total", "Uses of tokens in Secrets that a controller created."
).labels()
INVALID = counter(
    f"{_NAME}invalid_legacy_auto_token_uses_total", "Uses of tokens in secrets that were marked as invalid."
).labels()
STALE = counter(f"{_NAME}stale_tokens_total", "Uses of tokens after their requested expiration.").labels()
VALID = counter(f"{_NAME}valid_tokens_total", "Uses of tokens whose validity was extended.").labels()
