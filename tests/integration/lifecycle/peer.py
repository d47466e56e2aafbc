"""The sequences of test_model.py on a kube-apiserver with its kube-controller-manager, by hand.

    python -m tests.integration.lifecycle.peer --port 6443 --token TOKEN --ca apiserver.crt [--examples 50]

The server listens on 127.0.0.1; --ca is what its certificate is verified with. It ends with the first sequence whose
outcome is not that of the model.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from apiserver_gateway.testing import ApiServer
from tests.integration.lifecycle.test_model import Lifecycle, run


@dataclass(frozen=True, slots=True)
class Peer:
    """What the tests' client needs to know of a server."""

    port: int
    token: str
    ca_file: Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--ca", type=Path, required=True)
    parser.add_argument("--examples", type=int, default=50)
    options = parser.parse_args()
    Lifecycle.server = cast(ApiServer, Peer(options.port, options.token, options.ca))
    began = time.monotonic()
    run(options.examples)
    print(f"{options.examples} sequences ended as the model says, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
