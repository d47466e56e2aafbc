"""Encodes objects as the bytes of an answer: one module per representation.

The entry point is `registry.encoder_for`, which makes an `encoder.Encoder`. `representation` converts answers that are
not entries of the cache.
"""
