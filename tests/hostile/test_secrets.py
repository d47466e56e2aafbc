"""What a core dump, or a process with access to the server's memory, can see."""

from __future__ import annotations

from pathlib import Path

from apiserver_gateway.testing import ApiServer
from tests.integration.server.client import ask


def test_a_crash_writes_no_memory_down(server: ApiServer) -> None:
    process = Path(f"/proc/{server.pid}")
    (line,) = [each for each in (process / "limits").read_text(encoding="ascii").splitlines() if "core file" in each]
    assert line.split()[4:6] == ["0", "0"]
    assert int((process / "coredump_filter").read_text(encoding="ascii"), 16) == 0


def test_the_debug_pages_show_no_token(server: ApiServer) -> None:
    paths = ask(server, "GET", "/", headers={"Accept": "application/json"}).json["paths"]
    for path in (*(each for each in paths if each.startswith("/debug")), "/metrics", "/configz", "/flagz", "/statusz"):
        found = ask(server, "GET", path, headers={"Accept": "text/plain, */*"})
        assert found.status != 406 and server.token.encode() not in found.body, path
