"""Control planes below /clusters."""
