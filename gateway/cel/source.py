"""Error messages that point to a place in the text of an expression, in the format of cel-go."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

NO_LOCATION = -1
_MOST_REPORTED = 100
_LONGEST_SNIPPET = 16384


@dataclass(slots=True, frozen=True)
class Problem:
    """One error of an expression: the message, and the offset (in code points) of the wrong character."""

    at: int
    message: str


class CompilationError(Exception):
    """The text is not a valid expression. `problems` has the errors; `str()` is the message for the client."""

    def __init__(self, text: str, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(describe(text, problems))


def describe(text: str, problems: list[Problem]) -> str:
    """The message for all problems, sorted by place. Each has the source line and a mark under the wrong character."""
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
