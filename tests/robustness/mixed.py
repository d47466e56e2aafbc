"""Two servers on three etcd members, with all faults, one after the other at random times.

    python -m tests.robustness.mixed --judge PATH/history.py [--seconds 120] [arguments of the judge]

The judge is a program that sends requests to the servers, records the answers and checks whether that history is
possible. It gets `--server`, `--token`, `--seconds` and `--fault NAME=COMMAND`. Such a command asks this process for
the fault, and returns when the fault has ended. Faults that the judge did not choose are made after it has ended, so
that each occurs at least once. A fault that could not be made fails the run. At the end each server's cache is compared
with etcd; the last line printed is the result.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import ssl
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from apiserver_gateway.testing.server import ApiServer
from storage.embedded import find_binary
from tests.robustness.members import Member, cluster
from tests.robustness.proxy import Proxy

TOKEN = "tok"
PATIENCE = 60.0  # seconds for recovery after a fault
ASK = 'exec 3<>/dev/tcp/127.0.0.1/{port}; echo {fault} >&3; read -r -u3 word; [ "$word" = healed ]'


class Faults:
    """The faults and how to end them. Each hits one member or server, which is chosen at random."""

    def __init__(self, members: list[Member], proxies: list[Proxy], servers: list[ApiServer]) -> None:
        self.members, self.proxies, self.servers = members, proxies, servers
        self.done: Counter[str] = Counter()
        self.failed: list[str] = []
        self.known: dict[str, Callable[[], Awaitable[None]]] = {
            "kill-member": self._kill_member,
            "pause-member": self._pause_member,
            "defragment-member": self._defragment,
            "cut-member": lambda: self._at_proxy(Proxy.cut, 3.0),
            "hold-member": lambda: self._at_proxy(Proxy.hold, 5.0),
            "silence-member": lambda: self._at_proxy(Proxy.silence, 5.0),
            "silence-streams": lambda: self._at_proxy(Proxy.silence_streams, 5.0),
            "delay-member": lambda: self._at_proxy(lambda proxy: setattr(proxy, "delay", 0.1), 3.0),
            "break-all": self._break_all,
            "move-leader": self._move_leader,
            "compact": self._compact,
            "kill-server": self._kill_server,
            "pause-server": self._pause_server,
        }

    async def _kill_member(self) -> None:
        member = random.choice(self.members)
        await asyncio.to_thread(member.kill)
        await asyncio.sleep(1.0)
        await asyncio.to_thread(member.start)

    async def _pause_member(self) -> None:
        member = random.choice(self.members)
        member.pause()
        await asyncio.sleep(4.0)
        member.resume()

    async def _at_proxy(self, fault: Callable[[Proxy], None], seconds: float) -> None:
        proxy = random.choice(self.proxies)
        fault(proxy)
        await asyncio.sleep(seconds)
        proxy.heal()

    async def _break_all(self) -> None:
        for proxy in self.proxies:
            proxy.cut()
        await asyncio.sleep(0.2)
        for proxy in self.proxies:
            proxy.heal()

    async def _defragment(self) -> None:
        await self._etcdctl(random.choice(self.members), "defrag")

    async def _compact(self) -> None:
        member = random.choice(self.members)
        status = json.loads(await self._etcdctl(member, "endpoint", "status", "--write-out=json"))
        try:
            await self._etcdctl(member, "compact", str(status[0]["Status"]["header"]["revision"]))
        except RuntimeError as error:
            if "has been compacted" not in str(error):  # by an earlier compaction: this member may be behind
                raise

    async def _move_leader(self) -> None:
        """Moves the leader. Tries again: after a fault there may be no leader for a moment, or an outdated one."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return await self._move_leader_once()
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(0.2)

    async def _move_leader_once(self) -> None:
        for member in self.members:
            status = json.loads(await self._etcdctl(member, "endpoint", "status", "--write-out=json"))[0]["Status"]
            if status["leader"] != status["header"]["member_id"]:
                target = f"{status['header']['member_id']:x}"
                endpoints = ",".join(each.endpoint for each in self.members)
                await self._etcdctl(member, "move-leader", target, f"--endpoints={endpoints}")
                return

    async def _kill_server(self) -> None:
        server = random.choice(self.servers)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)

    async def _pause_server(self) -> None:
        server = random.choice(self.servers)
        os.kill(server.pid, signal.SIGSTOP)
        await asyncio.sleep(3.0)
        os.kill(server.pid, signal.SIGCONT)

    async def _etcdctl(self, member: Member, *words: str) -> bytes:
        program = str(find_binary().with_name("etcdctl"))
        patience = "--dial-timeout=60s", "--command-timeout=60s"
        at = () if any(word.startswith("--endpoints") for word in words) else (f"--endpoints={member.endpoint}",)
        process = await asyncio.create_subprocess_exec(
            program, *patience, *at, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        said, errors = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"etcdctl {' '.join(words)} ended with {process.returncode}: {errors.decode()[-500:]}")
        return said

    async def make_up_for(self, names: list[str]) -> None:
        """Makes the faults that the judge did not choose: it draws at random, and may leave some out.

        The judge has checked the acknowledged writes before. The caches are compared after these faults, too.
        """
        for name in names:
            if not self.done[name]:
                try:
                    await self.known[name]()
                    self.done[name] += 1
                except Exception as error:
                    self.failed.append(f"{name}: {error!r}")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Makes the fault that is asked for, and answers when the fault has ended."""
        name = (await reader.readline()).decode().strip()
        try:
            await self.known[name]()
            self.done[name] += 1
            writer.write(b"healed\n")
        except Exception as error:
            self.failed.append(f"{name}: {error!r}")
            writer.write(f"{error!r}\n".encode())
        await writer.drain()
        writer.close()


def _differing(server: ApiServer) -> list[str]:
    """The resources whose cache differs from etcd, after etcd and the server have had time to synchronise."""
    request = urllib.request.Request(
        f"{server.url}/debug/consistency", headers={"Authorization": f"Bearer {server.token}"}
    )
    context = ssl.create_default_context(cafile=str(server.ca_file))
    end = time.monotonic() + PATIENCE
    while True:
        found = [{"prefix": server.url, "status": "error"}]
        with suppress(OSError), urllib.request.urlopen(request, context=context, timeout=120) as answer:
            found = json.load(answer)
        if time.monotonic() > end or not any(each["status"] == "error" for each in found):
            return [each["prefix"] for each in found if each["status"] != "success"]
        time.sleep(1.0)


async def _judged(faults: Faults, options: argparse.Namespace, rest: list[str]) -> int:
    """Returns the judge's exit status; 1 if a cache differs at the end, or a fault could not be made."""
    asked = await asyncio.start_server(faults.serve, "127.0.0.1", 0)
    port = asked.sockets[0].getsockname()[1]
    named = [name for name in faults.known if not options.only or name in options.only]
    words = [f"--fault={name}={ASK.format(port=port, fault=name)}" for name in named]
    words += [f"--server={server.url}" for server in faults.servers]
    judge = await asyncio.create_subprocess_exec(
        sys.executable, options.judge, f"--seconds={options.seconds}", f"--token={TOKEN}", *words, *rest
    )
    status = await judge.wait()
    await faults.make_up_for(named)
    if faults.failed:
        print("faults that could not be made:", faults.failed)
    differing = [await asyncio.to_thread(_differing, server) for server in faults.servers]
    print("resources whose cache differs from etcd:", [each for found in differing for each in found] or "none")
    return status or int(any(differing) or bool(faults.failed))


async def _run(options: argparse.Namespace, rest: list[str], directory: Path) -> int:
    (directory / "tokens").write_text(f"{TOKEN},admin,1,system:masters\n")
    with cluster(directory, 3) as members:
        async with AsyncExitStack() as stack:
            proxies = [await stack.enter_async_context(Proxy(member.client).running()) for member in members]
            servers = []
            for number in range(2):
                (directory / f"server{number}").mkdir()
                order = [*proxies[number:], *proxies[:number]]
                flags = (f"--token-auth-file={directory / 'tokens'}", "--consistency-check-interval=10s")
                etcd = ",".join(proxy.endpoint for proxy in order)
                server = ApiServer(directory / f"server{number}", flags, etcd)
                await asyncio.to_thread(server.start)
                stack.callback(server.stop)
                servers.append(server)
            status = await _judged(Faults(members, proxies, servers), options, rest)
            if status and options.keep:
                for server in servers:
                    shutil.copy(server.log_file, f"{options.keep}-{server.port}.log")
            return status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--only", action="append", default=[], help="this fault, and others that are named so")
    parser.add_argument("--keep", default="", help="where to copy the servers' logs if something is found")
    options, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="mixed-") as directory:
        sys.exit(asyncio.run(_run(options, rest, Path(directory))))


if __name__ == "__main__":
    main()
