"""Lists of completion indexes of a Job: "1,3-5,7"."""

from __future__ import annotations

from gateway.validation.field import go_quote


class IndexFormatError(ValueError):
    """A list of indexes is malformed; the message is kube-apiserver's."""


def parse_indexes(text: str, completions: int) -> list[tuple[int, int]]:
    """The intervals (first, last) of a list. Raises IndexFormatError unless they ascend and are below `completions`."""
    intervals: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        first, last = parse_interval(part, completions)
        if intervals and intervals[-1][1] >= first:
            raise IndexFormatError(f"non-increasing order, previous: {intervals[-1][1]}, current: {first}")
        intervals.append((first, last))
    return intervals


def parse_interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        rule = "an index interval can have at most two parts separated by '-'"
        raise IndexFormatError(f"the fragment {go_quote(text)} violates the requirement that {rule}")
    numbers = [_number(limit, completions) for limit in limits]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise IndexFormatError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _number(text: str, completions: int) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise IndexFormatError(f"cannot convert string to integer for index: {go_quote(text)}")
    if int(text) >= completions:
        raise IndexFormatError(f"too large index: {go_quote(text)}")
    return int(text)


def first_overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that is in both lists, or None. Malformed intervals are ignored."""
    lists = []
    for text in (completed, failed):
        intervals = []
        for part in text.split(",") if text else ():
            try:
                intervals.append(parse_interval(part, completions))
            except IndexFormatError:
                continue
        lists.append(intervals)
    done, bad = 0, 0
    while done < len(lists[0]) and bad < len(lists[1]):
        (c_first, c_last), (f_first, f_last) = lists[0][done], lists[1][bad]
        if c_first <= f_last and f_first <= c_last:
            return max(c_first, f_first)
        if c_first <= f_first:
            done += 1
        else:
            bad += 1
    return None
