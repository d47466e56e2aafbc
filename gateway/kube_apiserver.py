"""A `kube-apiserver` for programs that start one: it takes kube-apiserver's flags, and serves as the gateway does.

Flags that the gateway lacks are named in a warning and have no effect. `gateway.envtest` puts it where envtest looks.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gateway.config import AUTHORIZATION_MODES, FEATURE_GATES
from gateway.flags import FLAGS

_KNOWN = {flag.name: flag for flag in FLAGS}
_BOOLEAN = {flag.name for flag in FLAGS if flag.metavar == "BOOL"}


def translated(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The gateway's flags for kube-apiserver's, and the names of those that it lacks.

    Both spellings are taken, `--name=value` and `--name value`, and names with underscores as pflag does.
    """
    taken: dict[str, str] = {}
    lacking: list[str] = []
    for name, value in _pairs(arguments):
        if name not in _KNOWN:
            lacking.append(f"--{name}")
        elif name == "authorization-mode":
            lacking += [f"--{name}={mode}" for mode in value.split(",") if mode not in AUTHORIZATION_MODES]
            if served := [mode for mode in value.split(",") if mode in AUTHORIZATION_MODES]:
                taken[name] = ",".join(served)
        elif name == "feature-gates":
            gates = [gate.strip() for gate in value.split(",") if gate.strip()]
            lacking += [f"--{name}={gate}" for gate in gates if gate.partition("=")[0] not in FEATURE_GATES]
            taken[name] = ",".join(gate for gate in gates if gate.partition("=")[0] in FEATURE_GATES)
        elif name == "service-account-issuer":
            taken.setdefault(name, value)  # the first signs
        else:
            taken[name] = value
    _take_pair(taken)
    return [f"--{name}={value}" for name, value in taken.items()], lacking


def _pairs(arguments: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    waiting = ""
    for word in arguments:
        if waiting and not word.startswith("--"):
            found[-1] = (waiting, word)
            waiting = ""
            continue
        name, separator, value = word.removeprefix("--").partition("=")
        name = name.replace("_", "-")
        found.append((name, value if separator else "true" if name in _BOOLEAN else ""))
        waiting = "" if separator or name in _BOOLEAN else name
    return found


def _take_pair(taken: dict[str, str]) -> None:
    """As kube-apiserver does, serves with the certificate that lies in --cert-dir, if one does."""
    directory = Path(taken.get("cert-dir", "."))
    certificate, key = directory / "apiserver.crt", directory / "apiserver.key"
    ours = directory / "addresses"  # written next to the gateway's own
    if "tls-cert-file" not in taken and certificate.is_file() and key.is_file() and not ours.exists():
        taken |= {"tls-cert-file": str(certificate), "tls-private-key-file": str(key)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves; returns the exit status."""
    from gateway.cli import main as run
    from gateway.version import GIT_VERSION

    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--version"], ["--version=true"]):
        print(f"Kubernetes {GIT_VERSION}")
        return 0
    if {"--help", "-h"} & set(given):  # envtest looks there for flags
        print("kube-apiserver [flags]\n\nFlags:")
        for flag in FLAGS:
            print(f"      --{flag.name} {flag.metavar}   {flag.help}")
        return 0
    flags, lacking = translated(given)
    if lacking:
        print(f"kube-apiserver: these have no effect here: {', '.join(lacking)}", file=sys.stderr)
    return run(["serve", *flags])


if __name__ == "__main__":
    sys.exit(main())
