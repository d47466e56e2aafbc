"""The exceptions of decoding, and `Marks`, which decoders share while they read one object."""

MOST_ITEMS = 100_000
"""The most objects in all lists of one object of a built-in kind. etcd accepts 1.5 MiB, and an object with content
takes more than 15 bytes. An empty one takes three bytes in a body, but hundreds of bytes with its defaults."""


class Marks(list[None]):
    """Has one element for each unknown field that decoders met. `left` is how many more objects lists may have."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_ITEMS


class Mismatch(Exception):
    """A value does not fit its type. It has no message: `gateway.schema.problems` finds that."""


class DecodeError(ValueError):
    """A body cannot be decoded; the message has the words of Go's decoders."""


class EmbeddedError(DecodeError):
    """An embedded object in a custom one has an invalid kind, apiVersion or metadata at `path`; `body` says why."""

    def __init__(self, path: str, body: str) -> None:
        super().__init__(f"{path}: {body}")
        self.path, self.body = path, body


class TooManyDefaults(ValueError):
    """The defaults of an object would make it larger than any object that can be stored."""


class YamlError(ValueError):
    """A text is not valid YAML; the message has goyaml's words."""
