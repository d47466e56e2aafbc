"""Changed files are read again. An invalid file is logged, and its last valid contents stay in force."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gateway.access.file_reload import Followed, Following, digest_of
from storage.instruments.families import declared


async def test_a_file_that_has_become_wrong(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file, read = tmp_path / "number", list[int]()
    file.write_text("1")
    following = Following()
    following.add(Followed("--numbers", (file,), lambda: read.append(int(file.read_text()))))
    for text in ("12", "none", "123"):
        file.write_text(text)
        await following.look()
        await following.look()
    assert read == [12, 123]
    assert caplog.text.count("--numbers changed and cannot be used: invalid literal") == 1


async def test_what_takes_long_is_done_in_a_thread_before_it_is_in_force(tmp_path: Path) -> None:
    file, done = tmp_path / "policies", list[tuple[str, bool]]()
    file.write_text("1")

    def note(what: str) -> None:
        done.append((what, threading.current_thread() is threading.main_thread()))

    following = Following()
    following.add(Followed("--policies", (file,), lambda: note("reload"), lambda: note("prepare")))
    file.write_text("12")
    await following.look()
    assert done == [("prepare", False), ("reload", True)]


async def test_metrics_show_the_digest_of_the_file_in_force_alone(tmp_path: Path) -> None:
    file = tmp_path / "authorization"
    file.write_text("1")
    following = Following()
    following.add(Followed("--authorization-config", (file,), lambda: float(file.read_text())))  # type: ignore[arg-type]
    name = "apiserver_authorization_config_controller_last_config_info"
    [family] = [each for each in declared() if each.name == name]
    for text, in_force in (("1", "1"), ("12", "12"), ("none", "12")):
        file.write_text(text)
        await following.look()
        assert [labels[1] for labels, _ in family.children()] == [digest_of(in_force.encode())]
