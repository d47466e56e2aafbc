"""How objects become the bytes of an answer: one module a representation, found by `registry`."""
