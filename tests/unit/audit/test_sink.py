"""Audit events as lines, in log files that are rotated, and at webhooks that are retried."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.access.remote import RemoteService
from gateway.audit import sink as lines
from gateway.audit import webhook
from gateway.audit.audit import Audit, Record
from gateway.audit.batches import Batching, Throttle
from gateway.audit.counts import Counts
from gateway.audit.event import TRUNCATED, AuditEvent
from gateway.audit.policy import AuditLevel, AuditPolicy, AuditRule
from gateway.audit.rotation import Keeping, RotatedFile
from gateway.audit.sink import AuditMode, LogSink
from gateway.audit.truncation import EventSizes, EventTooLarge, batches, fitting
from gateway.audit.webhook import WebhookSink
from gateway.http.exchange import Request
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.outbound.client import Reply
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target
from storage.instruments.trace import Times
from tests.logged import of
from tests.unit.audit.samples import META, event


@pytest.fixture(autouse=True)
def the_last_events_have_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is."""
    for module in (lines, webhook):
        monkeypatch.setattr(module, "_ENDING", 60.0)


def test_a_file_is_put_aside_when_it_is_large(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.log"
    file, other = (RotatedFile(path, Keeping(1, 2, 0, True)) for _ in range(2))
    piece = b"x" * 700_000
    for index in range(5):
        (other if index % 2 else file).write(b"%d%b" % (index, piece))
        file.settle()
        other.settle()
    assert path.read_bytes().startswith(b"4") and path.stat().st_mode & 0o777 == 0o600
    kept = file.backups()
    assert 1 <= len(kept) <= 2 and all(each.suffix == ".gz" for each in kept)
    assert gzip.decompress(kept[0].read_bytes())[:1] in (b"2", b"3")
    path.unlink()
    file.write(b"anew")
    assert path.read_bytes() == b"anew"


def test_a_line_begins_anew_behind_a_half_one(tmp_path: Path) -> None:
    """It does not matter which process wrote the half line: this one on a full disk, another one, or a killed one."""
    path = tmp_path / "audit.log"
    file = RotatedFile(path, Keeping())
    file.write(b"one\n")
    for writer in (file, RotatedFile(path, Keeping())):
        with path.open("ab") as other:
            other.write(b"ha")
        writer.write(b"whole\n")
    assert path.read_bytes() == b"one\nha\nwhole\nha\nwhole\n"


def unwritable(identity: str) -> AuditEvent:
    made = event(identity)
    made.meta["userAgent"] = "\ud800"
    return made


@pytest.mark.parametrize("module", [lines, webhook])
def test_an_event_that_cannot_be_written_fails_alone_and_is_counted(module: Any, tmp_path: Path) -> None:
    counts, service = Counts(), Service(0)

    async def run() -> None:
        made: LogSink | WebhookSink
        if module is lines:
            made = LogSink(
                str(tmp_path / "audit.log"), Keeping(), AuditMode.BATCH, False, Batching(100, 10, 60), None, counts
            )
        else:
            made = WebhookSink(
                RemoteService(Target("localhost", 1), "/", "", None),
                AuditMode.BATCH,
                Batching(100, 10, 60),
                None,
                counts,
            )
            made._client = service  # type: ignore[assignment]  # it has what is used of one
        for number in range(20):
            await made.take(unwritable(str(number)) if number == 5 else event(str(number)))
        await made.close()

    asyncio.run(run())
    if module is lines:
        written = [json.loads(line)["auditID"] for line in (tmp_path / "audit.log").read_bytes().splitlines()]
    else:
        written = [each for one in service.lists for each in one]
    assert sorted(written, key=int) == [str(number) for number in range(20) if number != 5]
    assert dict(counts.errors) == {"log" if module is lines else "webhook": 1}


def test_a_request_that_waits_is_told_of_an_event_that_cannot_be_written(tmp_path: Path) -> None:
    async def run() -> list[bool]:
        sink = LogSink(str(tmp_path / "audit.log"), Keeping(), AuditMode.STRICT, False, Batching(10))
        taken = [await sink.take(unwritable("1")), await sink.take(event("2"))]
        await sink.close()
        return taken

    assert asyncio.run(run()) == [False, True]


def test_requests_wait_until_their_events_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"

    async def run() -> None:
        sink = LogSink(str(path), Keeping(), AuditMode.BLOCKING, False, Batching(10))
        for index in range(20):
            assert await sink.take(event(str(index)))
            assert len(path.read_bytes().splitlines()) == index + 1
        await sink.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("mode", "goes_on"), [(AuditMode.BATCH, True), (AuditMode.BLOCKING, True), (AuditMode.STRICT, False)]
)
def test_only_strictly_a_request_fails_with_its_event(
    tmp_path: Path, mode: AuditMode, goes_on: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> bool:
        sink = LogSink(str(tmp_path), Keeping(), mode, False, Batching(10))
        taken = await sink.take(event("hush-hush"))
        await sink.close()
        return taken

    assert asyncio.run(run()) is goes_on
    assert "1 audit events lost" in caplog.text and "hush-hush" not in caplog.text


class Service:
    """Stands in for the calls of a sink."""

    def __init__(self, failures: int) -> None:
        self.failures, self.lists = failures, list[list[str]]()

    async def call(self, target: Target, request: OutboundRequest, timeout: float, largest: int) -> Reply:
        if self.failures:
            self.failures -= 1
            raise CallError("refused")
        assert isinstance(request.body, bytes)
        self.lists.append([each["auditID"] for each in json.loads(request.body)["items"]])
        return Reply(200)

    def close(self) -> None:
        pass


def sent(service: Service, count: int, batching: Batching, mode: AuditMode = AuditMode.BATCH) -> list[bool]:
    async def run() -> list[bool]:
        sink = WebhookSink(RemoteService(Target("localhost", 1), "/", "", None), mode, batching)
        sink._client = service  # type: ignore[assignment]  # it has what is used of one
        taken = [await sink.take(event(str(index))) for index in range(count)]
        await sink.close()
        return taken

    return asyncio.run(run())


def test_events_go_in_batches_and_the_last_ones_at_the_end() -> None:
    service = Service(0)
    sent(service, 5, Batching(10, 2, 60, 0.001))
    assert sorted(service.lists) == [["0", "1"], ["2", "3"], ["4"]]


def test_a_failed_call_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(4)
    sent(service, 1, Batching(10, 2, 60, 0.001))
    assert service.lists == [["0"]] and not of(caplog, "gateway.audit")
    sent(Service(5), 1, Batching(10, 2, 60, 0.001))
    assert "1 audit events lost: refused" in caplog.text


def test_what_waits_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(0)
    assert sent(service, 5, Batching(3, 100, 60, 0.001)) == [True] * 5
    assert service.lists == [["0", "1", "2"]] and "too many wait to be sent" in caplog.text


def test_lines_that_wait_are_bounded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The file is a pipe without a reader, so nothing can be written."""
    os.mkfifo(tmp_path / "audit.log")
    counts = Counts()

    async def run() -> list[bool]:
        sink = LogSink(str(tmp_path / "audit.log"), Keeping(), AuditMode.BATCH, False, Batching(2, 1), counts=counts)
        writing = [asyncio.create_task(sink.take(event("0")))]
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            while sink._waiting:  # its thread takes the first one, and hangs
                await asyncio.sleep(0)
        writing += [asyncio.create_task(sink.take(event(str(number)))) for number in (1, 2)]
        await asyncio.sleep(0)
        refused = await sink.take(event("3"))
        reader = os.open(tmp_path / "audit.log", os.O_RDONLY | os.O_NONBLOCK)
        taken = await asyncio.gather(*writing)
        await sink.close()
        assert [json.loads(line)["auditID"] for line in os.read(reader, 1 << 16).splitlines()] == ["0", "1", "2"]
        os.close(reader)
        return [*taken, refused]

    assert asyncio.run(run()) == [True] * 4, "a request of the mode batch goes on"
    assert dict(counts.errors) == {"buffered": 1} and "too many wait to be written" in caplog.text


@pytest.mark.parametrize("module", [lines, webhook])
def test_bytes_that_wait_are_bounded(module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3 * event(body=b'"%b"' % (b"x" * 1000)).size)
    counts, batching = Counts(), Batching(100, 100, 60)

    async def run() -> None:
        made: LogSink | WebhookSink
        if module is lines:
            made = LogSink(str(tmp_path / "audit.log"), Keeping(), AuditMode.BATCH, False, batching, counts=counts)
        else:
            made = WebhookSink(
                RemoteService(Target("localhost", 1), "/", "", None), AuditMode.BATCH, batching, counts=counts
            )
            made._client = Service(0)  # type: ignore[assignment]  # it has what is used of one
        for number in range(5):
            assert await made.take(event(str(number), b'"%b"' % (b"x" * 1000))), "a request of the mode batch goes on"
        await made.close()

    asyncio.run(run())
    assert dict(counts.errors) == {"buffered": 2}


@pytest.mark.parametrize("mode", [AuditMode.BLOCKING, AuditMode.STRICT])
def test_no_event_is_lost_that_a_request_waits_for(
    mode: AuditMode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many requests come at once, and however large their events are."""
    monkeypatch.setattr(lines, "MOST_WAITING", event().size)
    counts, path = Counts(), tmp_path / "audit.log"

    async def run() -> list[bool]:
        made = LogSink(str(path), Keeping(), mode, False, Batching(2, 1, 0), counts=counts)
        kept = await asyncio.gather(*(made.take(event(str(number), b'"%b"' % (b"x" * 1000))) for number in range(20)))
        await made.close()
        return kept

    assert asyncio.run(run()) == [True] * 20
    assert not counts.errors and len(path.read_bytes().splitlines()) == 20


def record(request: Request, user: User) -> tuple[Record, list[AuditEvent]]:
    kept = list[AuditEvent]()

    class Keeper:
        async def take(self, event: AuditEvent) -> bool:
            kept.append(event)
            return True

        async def close(self) -> None: ...

    audit = Audit(AuditPolicy((AuditRule(AuditLevel.METADATA),)), [Keeper()], Counts())
    scope = {"raw_path": request.path.encode(), "query_string": request.query_string, "client": ("10.0.0.1", 1)}
    made = audit.record(request, user, scope, Times(0.0))
    assert made is not None
    return made, kept


@pytest.mark.parametrize("where", ["uri", "user", "audit ID", "annotation", "name"])
def test_what_clients_choose_counts_as_waiting(where: str) -> None:
    """Ten thousand events may wait; if they have long URIs, the limit of bytes is reached before."""
    long = "x" * 500_000
    headers = {b"audit-id": long.encode() if where == "audit ID" else b"1"}
    request = Request("GET", "/version", f"a={long}".encode() if where == "uri" else b"", headers, receive)
    request.info, request.received = RequestInfo("get", "/version"), "2026-01-01T00:00:00.000000Z"
    made, kept = record(request, User("ada", (long,) if where == "user" else ()))
    if where == "annotation":
        made.annotate("a", long)
    if where == "name":
        made.requested({"metadata": {"name": long}})
    asyncio.run(made.begin())
    (event,) = kept
    assert event.size >= 500_000


async def receive() -> dict[str, Any]:
    return {"type": "http.request"}


def test_no_list_has_more_events_than_a_batch_may() -> None:
    service = Service(0)
    sent(service, 25, Batching(100, 10, 60, 0.001))
    assert sorted(len(each) for each in service.lists) == [5, 10, 10]
    assert sorted(name for each in service.lists for name in each) == sorted(str(number) for number in range(25))


def test_a_blocking_webhook_takes_events_one_by_one() -> None:
    service = Service(0)
    assert sent(service, 2, Batching(), AuditMode.BLOCKING) == [True, True]
    assert service.lists == [["0"], ["1"]]
    assert sent(Service(5), 1, Batching(pause=0.001), AuditMode.STRICT) == [False]


def text(line: bytes) -> Any:
    return json.loads(line)


def test_a_large_event_loses_its_objects_and_a_larger_one_is_lost() -> None:
    large, bounds = event(body=json.dumps({"x": "y" * 5000}).encode()), EventSizes(1000)
    with pytest.raises(EventTooLarge):
        fitting(large, AuditEvent.line, bounds)  # only events with objects lose them, whatever they have
    large.meta = {**META, "level": "Request"}
    cut = text(fitting(large, AuditEvent.line, bounds))
    assert cut == {**text(event().line()), "level": "Request", "annotations": {TRUNCATED: "true"}}
    assert not large.annotations and large.request is not None, "another sink may have it whole"
    assert text(fitting(large, AuditEvent.line, None))["requestObject"] == {"x": "y" * 5000}
    large.meta["requestURI"] = "/" + "z" * 1000
    with pytest.raises(EventTooLarge):
        fitting(large, AuditEvent.line, bounds)


def test_batches_are_cut_where_they_would_be_too_large() -> None:
    items = [b"a" * 40, b"b" * 40, b"c" * 100, b"d"]
    assert list(batches(items, EventSizes(100, 90))) == [items[:2], items[2:3], items[3:]]
    assert list(batches(items, None)) == [items]


def test_an_event_that_is_too_large_is_counted_and_fails_no_request(tmp_path: Path) -> None:
    path, counts = tmp_path / "audit.log", Counts()

    async def run() -> bool:
        sink = LogSink(str(path), Keeping(), AuditMode.STRICT, False, Batching(10), EventSizes(10), counts)
        taken = await sink.take(event())
        await sink.close()
        return taken

    assert asyncio.run(run())
    assert (path.read_bytes(), dict(counts.errors)) == (b"", {"truncate": 1})


def test_lines_wait_for_others_until_there_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"

    async def run() -> None:
        sink = LogSink(str(path), Keeping(), AuditMode.BATCH, False, Batching(10, 3, 60, rate=1000, burst=1))
        for index in range(4):
            await sink.take(event(str(index)))
        await asyncio.to_thread(_until, lambda: path.exists() and path.read_bytes().count(b"\n") >= 3)
        assert path.read_bytes().count(b"\n") == 3, "the fourth waits for two others"
        await sink.close()

    asyncio.run(run())
    assert path.read_bytes().count(b"\n") == 4


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_batches_beyond_the_burst_wait_for_their_turn() -> None:
    throttle = Throttle(10, 2, 0.0)
    assert [throttle.delay(0.0) for _ in range(4)] == pytest.approx([0, 0, 0.1, 0.2])
    assert throttle.delay(100.0) == 0.0
    assert [Throttle(0, 0, 0.0).delay(0.0) for _ in range(3)] == [0, 0, 0]
