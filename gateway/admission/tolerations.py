"""Compares and merges tolerations, for plug-ins that add tolerations to pods."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.jsontypes import JsonObject

MOST_PAIRS = 50_000  # of tolerations that are compared: more would block the event loop for too long


def covers(wide: JsonObject, narrow: JsonObject) -> bool:
    """Whether `wide` tolerates every taint that `narrow` tolerates."""
    if wide == narrow:
        return True
    operator, key = wide.get("operator", ""), wide.get("key", "")
    if narrow.get("key", "") != key and (key or operator != "Exists"):
        return False
    effect = wide.get("effect", "")
    if effect and narrow.get("effect", "") != effect:
        return False
    longest = wide.get("tolerationSeconds")
    if effect == "NoExecute" and longest is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > longest:
            return False
    if operator in ("", "Equal"):
        return bool(narrow.get("operator") == "Equal" and narrow.get("value", "") == wide.get("value", ""))
    return bool(operator == "Exists")


def merged(first: Sequence[JsonObject], second: Sequence[JsonObject]) -> list[JsonObject]:
    """Both lists as one, copied, without tolerations that another one covers; of equal ones the first stays.

    Where there are more than MOST_PAIRS pairs, all stay.
    """
    everything, found = [*first, *second], list[JsonObject]()
    comparable = len(everything) ** 2 <= MOST_PAIRS
    for index, each in enumerate(everything):
        later = everything[index + 1 :]
        if comparable and (
            any(covers(kept, each) for kept in found) or any(each != other and covers(other, each) for other in later)
        ):
            continue
        found.append(dict(each))
    return found
