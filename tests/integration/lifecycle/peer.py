"""Runs the sequences of test_model.py on a kube-apiserver with its kube-controller-manager; started by hand.

Usage: python -m tests.integration.lifecycle.peer --port 6443 --token TOKEN --ca apiserver.crt [--examples 50]

The server listens on 127.0.0.1; --ca verifies its certificate. The run ends with the first sequence whose outcome
differs from the model's.
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
    """The attributes of a server that the tests' client uses."""

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
