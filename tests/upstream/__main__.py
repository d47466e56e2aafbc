"""Runs a tool of this package: `python -m tests.upstream NAME [ARGUMENTS]`."""

from __future__ import annotations

import sys
from importlib import import_module

TOOLS = {
    "chance": "runs tests in random order while the machine is busy and servers are stopped for moments",
    "mutate": "breaks rules of the server at random, and counts which of them the tests notice",
    "node": "builds what real nodes are made of, and runs tests on one",
}


def main() -> int:
    """The tool's exit status; 2 for a name that is none."""
    if len(sys.argv) < 2 or sys.argv[1] not in TOOLS:
        print("usage: python -m tests.upstream NAME [ARGUMENTS]\n")
        print("\n".join(f"  {name:<8} {does}" for name, does in TOOLS.items()))
        return 2
    status: int = import_module(f"tests.upstream.{sys.argv[1]}").main(sys.argv[2:])
    return status


if __name__ == "__main__":
    sys.exit(main())
