"""What decoding raises."""


class Mismatch(Exception):
    """A value does not fit its type; `gateway.schema.problems` finds out how to say it."""


class DecodeError(ValueError):
    """A body that cannot be decoded; the message is worded as Go's decoders word it."""


class EmbeddedError(DecodeError):
    """An object within a custom one has no sound kind, apiVersion or metadata at `path`; `body` says why."""

    def __init__(self, path: str, body: str) -> None:
        super().__init__(f"{path}: {body}")
        self.path, self.body = path, body


class YamlError(ValueError):
    """A body that is no YAML, in goyaml's words."""
