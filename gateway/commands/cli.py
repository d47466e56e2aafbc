"""The command `apiserver-gateway`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

HELP = frozenset({"-h", "--help"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    `serve` and `template` do not import click and rich, so that they start fast. Only apiserver_gateway.testing calls
    `template`.
    """
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
