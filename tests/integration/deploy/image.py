"""A file system that an image's steps are run in: the machine's programs and libraries, read-only, and what they write.

It is a mount namespace, so that the commands of a Dockerfile run as they stand there, /opt and useradd included. Wants
root, and leave to mount.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/dev", "/proc")
ACCOUNTS = ("passwd", "group", "shadow", "gshadow", "login.defs", "nsswitch.conf", "hosts", "ld.so.cache")
NO_ISOLATION = {"PIP_NO_BUILD_ISOLATION": "0"}  # pip takes the value for that of the option that this one switches off
OURS = ("pip", "apiserver_gateway", "__editable__")  # what an image gets, or has not


def can_be_made() -> bool:
    """Whether this machine lets one be made."""
    words = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    if os.geteuid() or not shutil.which("unshare"):
        return False
    return subprocess.run(words, capture_output=True).returncode == 0


class Root:
    """One such file system, with what this Python and its packages need; `directory` is where it is mounted."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.directory = directory / "root"
        self.directory.mkdir()
        words = ["unshare", "--mount", "--propagation=private", "sh", "-ec", f"{self._mounts()}\necho; exec cat"]
        holder = stack.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        stack.callback(holder.kill)
        assert holder.stdout is not None and holder.stdout.readline() == b"\n", "it could not be mounted"
        self._enter = ["nsenter", f"--mount=/proc/{holder.pid}/ns/mnt"]

    def _mounts(self) -> str:
        root, packages = self.directory, Path(sysconfig.get_path("purelib")).resolve()
        lines = [f"mount -t tmpfs -o mode=755 none {root}", f"cd {root}", "mkdir etc opt var var/lib tmp dependencies"]
        lines += ["mount -t tmpfs -o mode=1777 none tmp"]
        lines += [f"cp -a /etc/{name} etc/" for name in ACCOUNTS if Path("/etc", name).exists()]
        for place in map(Path, PROGRAMS):
            if place.is_symlink():
                lines.append(f"cp -P {place} {root}{place}")
            elif place.exists():
                lines.append(f"mkdir -p .{place}; mount --rbind {place} .{place}")
        for place in (Path(sys.base_prefix).resolve(), packages):
            if not place.is_relative_to("/usr"):
                lines.append(f"mkdir -p .{place}; mount --bind {place} .{place}")
        # what is installed here needs not be fetched: pip and Python find it on PYTHONPATH
        for each in packages.iterdir():
            if not each.name.startswith(OURS) and each.suffix != ".pth":
                lines.append(f"ln -s '{each}' dependencies/")
        return "\n".join(lines)

    def place(self, path: str) -> str:
        """A path of the file system, for `on_it`."""
        return f"{self.directory}{path}"

    def on_it(self, *words: str) -> str:
        """Runs a program of the machine that sees the file system at `directory`; what it prints."""
        return self._run([*self._enter, *words])

    def command(
        self, words: Sequence[str], environment: Mapping[str, str], directory: str = "/", user: str = ""
    ) -> list[str]:
        """What runs a command in it, with nothing but this environment; as a user, `uid:gid`, with no rights at all."""
        path = f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        known = {"PATH": path, "PYTHONPATH": "/dependencies", **NO_ISOLATION, **environment}
        inside = ["env", "-i", f"--chdir={directory}", *(f"{name}={value}" for name, value in known.items())]
        if user:
            uid, gid = user.split(":")
            inside += ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs"]
            inside += ["--bounding-set=-all", "--inh-caps=-all"]
        return [*self._enter, "chroot", str(self.directory), *inside, *words]

    def run(self, words: Sequence[str], environment: Mapping[str, str], directory: str = "/", user: str = "") -> str:
        """What a command in it prints; it has to end with 0."""
        return self._run(self.command(words, environment, directory, user))

    def _run(self, words: list[str]) -> str:
        done = subprocess.run(words, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def is_read_only_but_for(self, volume: str) -> None:
        """From now on nothing can be written but in the volume and in /tmp."""
        self.on_it("mount", "--bind", self.place(volume), self.place(volume))
        self.on_it("mount", "-o", "remount,bind,ro", str(self.directory))
