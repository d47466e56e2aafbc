"""Counters of service account tokens: legacy tokens, and tokens used after the time that they were requested for."""

from __future__ import annotations

from storage.instruments import counter

_NAME = "serviceaccount_"

LEGACY = counter(f"{_NAME}legacy_tokens_total", "Uses of service account tokens without an audience.").labels()
MANUAL = counter(f"{_NAME}legacy_manual_token_uses_total", "Uses of tokens in secrets that somebody made.").labels()
AUTOMATIC = counter(
    f"{_NAME}legacy_auto_token_uses_total", "Uses of tokens in secrets that a controller made."
).labels()
INVALID = counter(
    f"{_NAME}invalid_legacy_auto_token_uses_total", "Uses of tokens in secrets that were marked as invalid."
).labels()
STALE = counter(f"{_NAME}stale_tokens_total", "Uses of tokens that are older than they asked to become.").labels()
VALID = counter(f"{_NAME}valid_tokens_total", "Uses of tokens that may become older than they asked to.").labels()
