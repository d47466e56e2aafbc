"""What the process that forks a pool's servers reports when one of them fails."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from unittest.mock import Mock

import pytest

from gateway.launch import template
from tests.logged import of


def test_a_server_that_fails_in_an_unforeseen_way_leaves_a_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(template, "launch", Mock(side_effect=ZeroDivisionError("the cause")))
    assert template._serve(["--etcd-servers=http://127.0.0.1:1"]) == 1
    (record,) = of(caplog, template.__name__)
    assert (record.getMessage(), record.levelno) == ("a server failed", logging.ERROR)
    assert record.exc_info is not None and "the cause" in str(record.exc_info[1])


def test_keys_that_cannot_be_removed_are_spoken_of_and_end_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The etcd may have ended before the servers."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        forks = template.ServerTemplate(theirs, f"unix://{tmp_path}/no-etcd", iter(()), Mock())
        ours.send(b'{"forget": "/1"}')
        assert forks._turn()
        assert "the keys of a server that is gone stay in etcd" in caplog.text
        assert "No such file" in of(caplog, template.__name__)[0].__dict__["reason"]
