"""Representations of objects: one module each. What goes in is canonical JSON, what comes out are an answer's bytes."""
