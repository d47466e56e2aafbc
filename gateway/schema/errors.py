"""What decoding raises."""


class DecodeError(ValueError):
    """A body that cannot be decoded; the message is worded as Go's decoders word it."""
