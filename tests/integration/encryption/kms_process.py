"""The process of a KMS plug-in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


class Kms:
    """A plug-in's process."""

    def __init__(self, directory: Path) -> None:
        self.socket, self._state = directory / "kms.sock", directory / "state.json"
        self.tell(key="one")
        self._process: subprocess.Popen[str] | None = None

    def tell(self, **state: Any) -> None:
        new = self._state.with_suffix(".new")
        new.write_text(json.dumps(state))
        new.replace(self._state)

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.integration.encryption.kms_plugin", str(self.socket), str(self._state)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None and self._process.stdout.readline() == "ready\n"

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
