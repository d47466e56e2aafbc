"""Load: wrk for requests, asyncio for watches and for the etcd client alone."""

from __future__ import annotations

import asyncio
import re
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Awaitable, Callable
from functools import cache


def wrk(
    url: str,
    token: str,
    seconds: int,
    connections: int,
    script: str = "",
    arguments: tuple[str, ...] = (),
    accept: str = "application/json",
) -> float:
    """Successful requests a second, as wrk counts them."""
    program = shutil.which("wrk")
    if program is None:
        raise SystemExit("the benchmarks need wrk: on Debian, apt-get install wrk")
    command = [program, "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s"]
    command += ["-H", f"Authorization: Bearer {token}", "-H", f"Accept: {accept}"]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        if script:
            file.write(script)
            file.flush()
            command += ["-s", file.name]
        shown = subprocess.run([*command, url, "--", *arguments], capture_output=True, text=True, check=True).stdout
    rate, total = re.search(r"Requests/sec:\s+([\d.]+)", shown), re.search(r"(\d+) requests in", shown)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", shown)
    assert rate and total, shown
    return float(rate[1]) * (1 - (int(bad[1]) / int(total[1]) if bad else 0))


@cache
def _context() -> ssl.SSLContext:
    """A TLS context for all connections: reading the host's certificates takes longer than a handshake."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urllib.parse.urlsplit(url)
    return await asyncio.open_connection(parts.hostname, parts.port, ssl=_context(), limit=1 << 24)


class EndedEarly(Exception):
    """The server has ended watches, as kube-apiserver does with those whose client is too slow."""


async def fan_out(
    url: str,
    path: str,
    token: str,
    watchers: int,
    events: int,
    marker: bytes,
    start: Callable[[], Awaitable[None]],
    accept: str = "application/json",
) -> float:
    """Delivered events a second: `watchers` connections read until each has seen `events` markers after `start`.

    Raises EndedEarly if the server ends a watch before.
    """
    seen, opened = 0, 0
    complete, all_open = asyncio.Event(), asyncio.Event()

    async def watch() -> None:
        nonlocal seen, opened
        reader, writer = await connect(url)
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nAccept: {accept}\r\n\r\n"
        writer.write(head.encode())
        await reader.readuntil(b"\r\n\r\n")
        opened += 1
        if opened == watchers:
            all_open.set()
        rest = b""  # the end of what was read: a marker may be split between two reads
        while data := await reader.read(1 << 18):
            data = rest + data
            seen += data.count(marker)
            found = data.rfind(marker)
            rest = data[found + len(marker) if found >= 0 else 0 :][1 - len(marker) :]
            if seen >= watchers * events:
                complete.set()

    tasks = [asyncio.create_task(watch()) for _ in range(watchers)]
    await asyncio.wait_for(all_open.wait(), 60)
    began = time.monotonic()
    await start()
    all_seen = asyncio.create_task(complete.wait())
    await asyncio.wait({all_seen, *tasks}, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    took = time.monotonic() - began
    if not all_seen.done():
        ended = sum(task.done() for task in tasks)
        raise EndedEarly(f"{ended} watches ended; {seen} of {watchers * events} events came")
    for task in tasks:
        task.cancel()
    return seen / took


async def read_body(reader: asyncio.StreamReader, head: bytes) -> int:
    """Reads the body that follows an answer's head; its bytes."""
    if length := re.search(rb"content-length: (\d+)", head, re.IGNORECASE):
        await reader.readexactly(int(length[1]))
        return int(length[1])
    size = 0
    while chunk := int(await reader.readline(), 16):
        await reader.readexactly(chunk + 2)
        size += chunk
    await reader.readline()
    return size


async def send(url: str, token: str, requests: list[tuple[str, str, bytes]], connections: int = 8) -> list[int]:
    """Sends (method, path, body) over keep-alive connections; the status codes, in no order."""
    queue, codes = list(requests), []

    async def worker() -> None:
        reader, writer = await connect(url)
        while queue:
            method, path, body = queue.pop()
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            head = (
                f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            codes.append(int(answer.split()[1]))
            await read_body(reader, answer)
        writer.close()

    await asyncio.gather(*(worker() for _ in range(connections)))
    return codes
