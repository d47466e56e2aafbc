"""Rules of the etcd client that need no etcd."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata
from hypothesis import given
from hypothesis import strategies as st

from storage import errors
from storage.etcd import LeaseNotFound, prefix_end, progress_notifications_correct
from storage.etcd.errors import is_certainly_not_executed, is_token_stale, is_transient, translate
from storage.versions import survives_kill

ROOT = Path(__file__).resolve().parents[3]
Code = grpc.StatusCode


def failure(code: Code, details: str) -> AioRpcError:
    return AioRpcError(code, Metadata(), Metadata(), details, None)


@pytest.mark.parametrize(
    ("version", "correct"),
    [
        ("3.4.30", False),
        ("3.4.31", True),
        ("3.5.1", False),
        ("3.5.12", False),
        ("3.5.13", True),
        ("3.5.13-rc.0", False),
        ("3.5.14-rc.0", True),
        ("3.6.0", True),
        ("3.6.0-rc.1", True),
        ("3.10.0", True),
        ("4.0.0", True),
        ("3.3.99", False),
        ("", False),
        ("HEAD", False),
    ],
)
def test_progress_is_trusted_by_version(version: str, correct: bool) -> None:
    assert progress_notifications_correct(version) is correct


@pytest.mark.parametrize(
    ("version", "survives"),
    [
        ("3.4.20", False),
        ("3.4.21", True),
        ("3.5.1", False),
        ("3.5.4", False),
        ("3.5.5", True),
        ("3.6.0", True),
        ("", False),
    ],
)
def test_a_kill_is_survived_by_version(version: str, survives: bool) -> None:
    assert survives_kill(version) is survives


@pytest.mark.parametrize(
    ("code", "details", "kind"),
    [
        (Code.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", errors.Compacted),
        (Code.OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision", errors.FutureRevision),
        (Code.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", errors.NoSpace),
        (Code.RESOURCE_EXHAUSTED, "etcdserver: too many requests", errors.Unavailable),
        (Code.RESOURCE_EXHAUSTED, "grpc: received message larger than max (3 vs. 2)", errors.TooLarge),
        (Code.INVALID_ARGUMENT, "etcdserver: request is too large", errors.TooLarge),
        (Code.INVALID_ARGUMENT, "etcdserver: key is not provided", errors.StorageError),
        (Code.PERMISSION_DENIED, "etcdserver: permission denied", errors.PermissionDenied),
        (Code.UNAUTHENTICATED, "etcdserver: invalid auth token", errors.Unauthenticated),
        (Code.INVALID_ARGUMENT, "etcdserver: user name is empty", errors.Unauthenticated),
        (Code.UNAVAILABLE, "etcdserver: leader changed", errors.Unavailable),
        (Code.UNAVAILABLE, "Socket closed", errors.Unavailable),
        (Code.INTERNAL, "Internal error from Core", errors.Unavailable),
        (Code.INTERNAL, "Received RST_STREAM with error code 2", errors.Unavailable),
        (Code.UNKNOWN, "Stream removed (Socket closed)", errors.Unavailable),
        (Code.UNKNOWN, "Stream removed (Deadline Exceeded)", errors.DeadlineExceeded),
        (Code.DEADLINE_EXCEEDED, "Stream removed (Socket closed)", errors.DeadlineExceeded),
        (Code.UNKNOWN, "raft proposal dropped", errors.Unavailable),
        (Code.UNKNOWN, "raft: stopped", errors.Unavailable),
        (Code.UNKNOWN, "raft: something else", errors.StorageError),
        (Code.DEADLINE_EXCEEDED, "Deadline Exceeded", errors.DeadlineExceeded),
        (Code.NOT_FOUND, "etcdserver: requested lease not found", LeaseNotFound),
    ],
)
def test_each_failure_has_its_type(code: Code, details: str, kind: type[Exception]) -> None:
    assert type(translate(failure(code, details))) is kind


@pytest.mark.parametrize(
    ("details", "safe"),
    [
        ("failed to connect to all addresses; last error: Connection refused", True),
        ("etcdserver: no leader", True),
        ("Socket closed", False),
        ("etcdserver: leader changed", False),
        ("etcdserver: request timed out", False),
        ("etcdserver: server stopped", False),
    ],
)
def test_a_write_is_repeated_only_if_certainly_not_executed(details: str, safe: bool) -> None:
    error = failure(Code.UNAVAILABLE, details)
    assert is_transient(error)
    assert is_certainly_not_executed(error) is safe


def test_a_write_that_raft_has_dropped_is_repeated() -> None:
    error = failure(Code.UNKNOWN, "raft proposal dropped")
    assert is_transient(error) and is_certainly_not_executed(error)
    assert not is_certainly_not_executed(failure(Code.UNKNOWN, "raft: stopped"))
    assert not is_transient(failure(Code.UNKNOWN, "something else"))


@pytest.mark.parametrize(
    "error",
    [failure(Code.INTERNAL, "Internal error from Core"), failure(Code.UNKNOWN, "Stream removed (Socket closed)")],
)
def test_a_connection_lost_within_a_call_leaves_its_execution_unknown(error: AioRpcError) -> None:
    """clientv3 goes on after Internal as after Unavailable."""
    assert is_transient(error) and not is_certainly_not_executed(error)


def test_a_deadline_says_nothing_about_execution() -> None:
    assert not is_certainly_not_executed(failure(Code.DEADLINE_EXCEEDED, "Deadline Exceeded"))


def test_only_a_stale_token_is_renewed() -> None:
    assert is_token_stale(failure(Code.UNAUTHENTICATED, "etcdserver: invalid auth token"))
    assert not is_token_stale(failure(Code.PERMISSION_DENIED, "etcdserver: permission denied"))


@given(st.binary(), st.binary())
def test_a_prefixes_range_holds_exactly_the_keys_that_start_with_it(prefix: bytes, key: bytes) -> None:
    end = prefix_end(prefix)
    for each in (key, prefix + key):
        assert (prefix <= each and (end == b"\0" or each < end)) is each.startswith(prefix)


def test_the_generated_code_is_what_the_proto_sources_say() -> None:
    checked = subprocess.run(
        [sys.executable, "hack/proto.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
