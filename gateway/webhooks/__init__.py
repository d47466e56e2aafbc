"""Calls of webhooks that stored objects configure (admission, conversion). Enter by `client.Webhooks`."""
