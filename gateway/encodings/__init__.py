"""Encodes objects as the bytes of an answer: a module for each representation.

Enter by `registry.encoder_for`, which makes an `encoder.Encoder`; `representation` writes answers that are not objects
of the cache.
"""
