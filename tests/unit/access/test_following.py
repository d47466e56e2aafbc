"""Files that change are read anew; one that has become wrong is said, and what it said before stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.access.following import Followed, Following


def test_a_file_that_has_become_wrong(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file, read = tmp_path / "number", list[int]()
    file.write_text("1")
    following = Following()
    following.add(Followed("--numbers", (file,), lambda: read.append(int(file.read_text()))))
    for text in ("12", "none", "123"):
        file.write_text(text)
        following.look()
        following.look()
    assert read == [12, 123]
    assert caplog.text.count("--numbers changed and cannot be used: invalid literal") == 1
