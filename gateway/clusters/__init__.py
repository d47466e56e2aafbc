"""Control planes below /clusters/NAME: made, woken, put to rest and ended."""
