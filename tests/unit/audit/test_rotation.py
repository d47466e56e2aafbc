"""A full disk, a killed process and a file that cannot be renamed lose no line of the audit log and leave no rest."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from gateway.audit import rotation
from gateway.audit.rotation import Keeping, RotatedFile

LARGE = b"x" * 700_000 + b"\n"
OLD = "audit-2026-01-01T00-00-00.000.log"


@pytest.mark.parametrize("reason", [errno.EBUSY, errno.EACCES, errno.EMFILE])
def test_a_file_that_cannot_be_rotated_grows(tmp_path: Path, caplog: pytest.LogCaptureFixture, reason: int) -> None:
    """A file that is mounted by itself, in a container, cannot be renamed."""
    path = tmp_path / "audit.log"
    file = RotatedFile(path, Keeping(size=1))
    with patch.object(Path, "rename", side_effect=OSError(reason, os.strerror(reason))):
        for _ in range(4):
            file.write(LARGE)
    assert path.read_bytes() == 4 * LARGE
    assert caplog.text.count("the audit log cannot be rotated, and grows") == 1
    file.write(LARGE)
    file.settle()
    assert path.read_bytes() == LARGE
    assert [each.read_bytes() for each in file.backups()] == [4 * LARGE]


def test_a_full_disk_keeps_the_plain_file_and_no_unfinished_one(tmp_path: Path) -> None:
    old = tmp_path / OLD
    old.write_bytes(LARGE)

    def full(plain: Any, out: Any) -> None:
        out.write(plain.read(1000))
        raise OSError(errno.ENOSPC, "no space left on device")

    file = RotatedFile(tmp_path / "audit.log", Keeping(compress=True))
    with patch.object(shutil, "copyfileobj", full):
        file._tidy_up()
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {OLD: LARGE}
    file._tidy_up()
    assert {each.name: gzip.decompress(each.read_bytes()) for each in tmp_path.iterdir()} == {f"{OLD}.gz": LARGE}


def test_what_a_killed_process_left_is_overwritten(tmp_path: Path) -> None:
    """Processes that end while they compress leave one file together, which is gone at the end."""
    old = tmp_path / OLD
    old.write_bytes(LARGE)
    for _ in range(2):
        if not (child := os.fork()):
            with patch.object(shutil, "copyfileobj", lambda plain, out: os._exit(0)):
                rotation._pack(old)
        os.waitpid(child, 0)
    assert len([*tmp_path.iterdir()]) == 2
    rotation._pack(old)
    assert {each.name: gzip.decompress(each.read_bytes()) for each in tmp_path.iterdir()} == {f"{OLD}.gz": LARGE}


def test_one_process_compresses_a_file(tmp_path: Path) -> None:
    old = tmp_path / OLD
    old.write_bytes(LARGE)
    copy = shutil.copyfileobj

    def meanwhile(plain: Any, out: Any) -> None:
        with pytest.raises(BlockingIOError):
            rotation._pack(old)
        copy(plain, out)

    with patch.object(shutil, "copyfileobj", meanwhile):
        rotation._pack(old)
    assert {each.name: gzip.decompress(each.read_bytes()) for each in tmp_path.iterdir()} == {f"{OLD}.gz": LARGE}
