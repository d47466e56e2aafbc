"""The exceptions of decoding, and `Marks`, which decoders share while they read one object."""

import sys

MOST_ITEMS = 100_000
"""The most objects in all lists of one object of a built-in kind. etcd accepts 1.5 MiB, and an object with content
takes more than 15 bytes. An empty one takes three bytes in a body, but hundreds of bytes with its defaults."""
_FEW_ITEMS = 10_000
_BYTES_OF_ITEM = 16
HEAVY = frozenset({"v1.Container", "v1.EphemeralContainer"})
"""Types of objects in lists that count more: each gets some ten values of defaults, and its fields are managed one by
one, which takes 2 KB."""
_BYTES_OF_HEAVY = 64
MOST_HEAVY = 20_000


def bounds_of(sent: int) -> tuple[int, int]:
    """The most objects in all lists of an object that was sent in so many bytes (0: not known), and the most in one
    list of a type of `HEAVY`.

    A short body with many empty objects would take a hundred times its size in memory.
    """
    if not sent:
        return MOST_ITEMS, MOST_HEAVY
    items, heavy = (max(_FEW_ITEMS, sent // size) for size in (_BYTES_OF_ITEM, _BYTES_OF_HEAVY))
    return min(MOST_ITEMS, items), min(MOST_HEAVY, heavy)


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

    __slots__ = ("_heavy", "_left", "_most", "emptied")

    def __init__(self, most: int = MOST_ITEMS, heavy: int = sys.maxsize) -> None:
        self._left, self._most, self._heavy = most, most, heavy
        self.emptied = False

    def take(self, count: int) -> None:
        """Counts the objects of a list. Raises DecodeError if all lists together have too many."""
        self._left -= count
        if self._left < 0:
            raise DecodeError(f"the lists of the object have more than {self._most} objects together; send fewer")

    def take_heavy(self, count: int) -> None:
        """As `take`, for a list of containers: an object has few such lists, and each has a bound of its own."""
        if count > self._heavy:
            raise DecodeError(f"a list of the object has more than {self._heavy} containers; send fewer")
        self.take(count)


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
