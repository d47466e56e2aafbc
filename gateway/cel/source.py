"""The text of an expression, and messages that point into it, worded as cel-go does."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

NO_LOCATION = -1
_MOST_REPORTED = 100
_LONGEST_SNIPPET = 16384


@dataclass(slots=True, frozen=True)
class Problem:
    """What is wrong with an expression, and the offset of the character where."""

    at: int
    message: str


class CompilationError(Exception):
    """An expression is none: `problems` says why, `str()` is what a client is told."""

    def __init__(self, text: str, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(describe(text, problems))


def describe(text: str, problems: list[Problem]) -> str:
    """All problems in the order of their places, each with the line that it is in."""
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    if not text:
        return "\n".join(f"ERROR: <input>:1:0: {each.message}" for each in problems)
    placed = sorted(
        ((_position(starts, each.at), each) for each in problems[:_MOST_REPORTED]), key=lambda pair: pair[0]
    )
    lines = [_display(text, starts, line, column, each.message) for (line, column), each in placed]
    if len(problems) > _MOST_REPORTED:
        lines.append(f"{len(problems) - _MOST_REPORTED} more errors were truncated")
    return "\n".join(lines)


def _position(starts: list[int], at: int) -> tuple[int, int]:
    if at < 0:
        return -1, -1
    line = bisect_right(starts, at)
    return line, at - starts[line - 1]


def _display(text: str, starts: list[int], line: int, column: int, message: str) -> str:
    shown = f"ERROR: <input>:{line}:{column + 1}: {message}"
    if line < 0:
        return shown
    end = starts[line] - 1 if line < len(starts) else len(text)
    snippet = text[starts[line - 1] : end].replace("\t", " ")
    if len(snippet.encode()) > _LONGEST_SNIPPET:
        return shown
    dots = "".join("\uff0e" if character > "\x7f" else "." for character in snippet[:column])
    mark = "\uff3e" if snippet[column : column + 1] > "\x7f" else "^"
    return f"{shown}\n | {snippet}\n | {dots}{mark}"
