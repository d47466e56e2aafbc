"""A child process that converts JSON to YAML: it reads a length (8 bytes) and JSON, and writes a length and YAML.

YAML takes a hundred times as long as JSON, and would hold the server's GIL. The process ends with its standard input.
"""

from __future__ import annotations

import signal
import sys

from gateway.encodings.yaml import to_yaml

LENGTH = 8
RECURSION = 20_000  # the dumper goes several calls deep for each level


def main() -> None:
    """Renders documents until the end of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setrecursionlimit(RECURSION)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while length := source.read(LENGTH):
        made = to_yaml(source.read(int.from_bytes(length, "big")))
        sink.write(len(made).to_bytes(LENGTH, "big"))
        sink.write(made)
        sink.flush()


if __name__ == "__main__":
    main()
