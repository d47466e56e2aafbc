"""What decoding raises, and what it notes on its way."""

MOST_ITEMS = 100_000
"""Objects in the lists of one object of a built-in kind, together. What says anything takes more than 15 bytes of the
1.5 MiB that etcd takes; an empty one takes three bytes of a body, and hundreds once it has its defaults."""


class Marks(list[None]):
    """Marks left where a field was unknown; `left` says how many more objects may come in lists."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_ITEMS


class Mismatch(Exception):
    """A value does not fit its type; `gateway.schema.problems` finds out how to say it."""


class DecodeError(ValueError):
    """A body that cannot be decoded; the message is worded as Go's decoders word it."""


class EmbeddedError(DecodeError):
    """An object within a custom one has no sound kind, apiVersion or metadata at `path`; `body` says why."""

    def __init__(self, path: str, body: str) -> None:
        super().__init__(f"{path}: {body}")
        self.path, self.body = path, body


class TooManyDefaults(ValueError):
    """An object would be given more defaults than any object that is stored has."""


class YamlError(ValueError):
    """A body that is no YAML, in goyaml's words."""
