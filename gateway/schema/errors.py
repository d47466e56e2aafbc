"""What decoding raises."""


class Mismatch(Exception):
    """A value does not fit its type; `gateway.schema.problems` finds out how to say it."""


class DecodeError(ValueError):
    """A body that cannot be decoded; the message is worded as Go's decoders word it."""
