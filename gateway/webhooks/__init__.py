"""Calls the webhooks of admission and conversion, which stored objects configure. Enter by `client.Webhooks`."""
