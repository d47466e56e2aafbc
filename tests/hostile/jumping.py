"""A server whose clock jumps, as after a wrong NTP answer: libfaketime gives it another time; etcd keeps the real one.

The monotonic clock stays right, as it does on a machine whose clock is set.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO
from unittest import mock

from apiserver_gateway.testing import ApiServer

_PLACES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib")


def library() -> Path | None:
    """libfaketime's, where it is installed (Debian's package libfaketime)."""
    found = (Path(place, "faketime", "libfaketimeMT.so.1") for place in _PLACES)
    return next((each for each in found if each.exists()), None)


class JumpingServer(ApiServer):
    """Has the right time until `jump`."""

    def jump(self, seconds: int) -> None:
        """Sets the server's clock so many seconds before or behind the right time, at once."""
        unfinished = self._offset.with_suffix(".new")
        unfinished.write_text(f"{seconds:+d}")
        unfinished.replace(self._offset)

    @property
    def _offset(self) -> Path:
        return self.directory / "offset"

    def _spawn(self, output: IO[bytes]) -> None:
        self.jump(0)
        given = {
            "LD_PRELOAD": str(library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",  # a jump is seen at once
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }
        with mock.patch.dict(os.environ, given):
            super()._spawn(output)
