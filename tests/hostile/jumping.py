"""A server whose clock jumps, as after a wrong NTP answer. Its etcd, and the C libraries that it uses, keep the right
time.

Python's `time.time` and `datetime.now` in the server's process return the shifted time, at once and in all threads. The
monotonic clock stays right, as on a machine whose clock is set. gRPC takes a call's deadline from Python and compares
it with its own clock, which does not jump. So it is given the real time.
"""

from __future__ import annotations

import struct
import sys
from typing import IO

from apiserver_gateway.testing import ApiServer

_PROGRAM = """
import datetime, mmap, struct, sys, time, types

real = types.SimpleNamespace(**vars(time))
with open({offset!r}, "rb") as file:
    place = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)

def ahead():
    return struct.unpack("=q", place)[0]

class Jumping(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.UTC).replace(tzinfo=None)

time.time = lambda: real.time() + ahead()
time.time_ns = lambda: real.time_ns() + ahead() * 10**9
for name in ("gmtime", "localtime"):
    setattr(time, name, lambda seconds=None, of=getattr(real, name): of(time.time() if seconds is None else seconds))
time.strftime = lambda text, moment=None: real.strftime(text, time.localtime() if moment is None else moment)
datetime.datetime = Jumping

import grpc.aio
import storage.etcd.unary
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] == "grpc" or name == "storage.etcd.unary":
        if getattr(module, "time", None) is time:
            module.time = real

from gateway.commands.cli import main
sys.exit(main(sys.argv[1:]))
"""


class JumpingServer(ApiServer):
    """The process has the right time until `jump` is called."""

    def jump(self, seconds: int) -> None:
        """Sets the server's clock `seconds` before or after the right time, at once."""
        place = self.directory / "offset"
        with place.open("r+b" if place.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("=q", seconds))

    def _spawn(self, output: IO[bytes]) -> None:
        self.jump(0)
        super()._spawn(output)

    def _command(self, control: int) -> list[str]:
        words = super()._command(control)
        program = _PROGRAM.format(offset=str(self.directory / "offset"))
        return [sys.executable, "-c", program, *words[words.index("serve") :]]
