"""The command `apiserver-gateway`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

HELP = frozenset({"-h", "--help"})
_COLLECTOR = 150_000, 0, 0  # new objects that begin a collection: a start makes 90 000, of which 1 000 are garbage


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    `serve` and `template` do not import click and rich, so that they start fast. Only apiserver_gateway.testing calls
    `template`. The garbage collector rests meanwhile: it would take a seventh of a start's CPU time. A server that
    serves has settings of its own (gateway/memory.py).
    """
    gc.set_threshold(*_COLLECTOR)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["serve"] and not HELP & set(words):
        from gateway.commands.serving import serve

        return serve(words[1:])
    if words[:1] == ["template"]:
        from gateway.launch.template import run as be_template

        return be_template(words[1:])
    from gateway.commands.program import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
