"""A KMS plug-in for the tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.encryption.kms_process import Kms


@pytest.fixture
def plugin() -> Iterator[Kms]:
    with tempfile.TemporaryDirectory() as directory:  # a socket's path is short
        found = Kms(Path(directory))
        found.start()
        yield found
        found.stop()
