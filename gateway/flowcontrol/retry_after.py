"""The Retry-After of refused requests: it grows while many are refused, and falls when fewer are."""

from __future__ import annotations

from collections import deque

MOST = 8  # seconds


class Retrying:
    """The Retry-After of one priority level. Times are whole seconds."""

    def __init__(self) -> None:
        self.after = 1
        self._refused: deque[tuple[int, int]] = deque()  # seconds before the present one, and how many in each
        self._second = self._count = self._raised = 0

    def refused(self, second: int) -> int:
        """Notes a refusal. Returns its Retry-After in seconds."""
        if second == self._second:
            self._count += 1
            return self.after
        self._refused.append((self._second, self._count))
        while second - self._refused[0][0] > min(2 * self.after, MOST):
            self._refused.popleft()
            if not self._refused:
                break
        self._second, self._count = second, 1
        self._adjust(second)
        return self.after

    def _adjust(self, second: int) -> None:
        lately = sum(count for when, count in self._refused if when < second <= when + self.after)
        if lately >= 3 * self.after and second - self._raised >= self.after:
            self.after, self._raised = min(2 * self.after, MOST), second
        elif lately < self.after and self.after > 1:
            self.after -= 1
