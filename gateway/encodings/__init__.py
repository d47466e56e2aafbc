"""Representations of objects besides JSON: one module each, made from the canonical JSON of an object."""
