"""Calls of webhooks that stored objects tell of."""
