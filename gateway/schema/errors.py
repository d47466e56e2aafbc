"""The exceptions of decoding, and `Marks`, which decoders share while they read one object."""

MOST_ITEMS = 100_000
"""The most objects in all lists of one object of a built-in kind. etcd accepts 1.5 MiB, and an object with content
takes more than 15 bytes. An empty one takes three bytes in a body, but hundreds of bytes with its defaults."""
_FEW_ITEMS = 10_000
_BYTES_OF_ITEM = 16


def most_items(sent: int) -> int:
    """The most objects in all lists of an object that was sent in so many bytes.

    A short body with many empty objects would take a hundred times its size in memory.
    """
    return min(MOST_ITEMS, max(_FEW_ITEMS, sent // _BYTES_OF_ITEM))


MOST_DEFAULTS = 25_000
"""The values of defaults that even a short object gets, as `most_defaults` counts them."""
BYTES_OF_DEFAULT = 8


def most_defaults(size: int) -> int:
    """The most values of defaults that a custom object of `size` bytes gets.

    An empty item takes three bytes in a body, and hundreds for each value that is added to it.
    """
    return max(MOST_DEFAULTS, size // BYTES_OF_DEFAULT)


class Mismatch(Exception):
    """A value does not fit its type. It has no message: `gateway.schema.problems` finds that."""


class DecodeError(ValueError):
    """A body cannot be decoded; the message has the words of Go's decoders."""


class Marks(list[None]):
    """Has one element for each unknown field that decoders met, and counts the objects in lists.

    `emptied`: a decoder has left an empty list, map or string out.
    """

    __slots__ = ("_left", "_most", "emptied")

    def __init__(self, most: int = MOST_ITEMS) -> None:
        self._left = self._most = most
        self.emptied = False

    def take(self, count: int) -> None:
        """Counts the objects of a list. Raises DecodeError if all lists together have too many."""
        self._left -= count
        if self._left < 0:
            raise DecodeError(f"the lists of the object have more than {self._most} objects together; send fewer")


class TooMany(DecodeError):
    """JSON has more members, arrays or objects than this server reads; the message says of what."""


class EmbeddedError(DecodeError):
    """An embedded object in a custom one has an invalid kind, apiVersion or metadata at `path`; `body` says why."""

    def __init__(self, path: str, body: str) -> None:
        super().__init__(f"{path}: {body}")
        self.path, self.body = path, body


class TooManyDefaults(ValueError):
    """The defaults of an object would make it many times as large, or larger than any object that can be stored."""


class YamlError(ValueError):
    """A text is not valid YAML; the message has goyaml's words."""
