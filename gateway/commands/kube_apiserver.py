"""A replacement for `kube-apiserver`, for programs that start one. It takes kube-apiserver's flags.

Controllers run only if --controllers is given: kube-apiserver has none of them, and test suites expect that. A warning
names the flags that the gateway does not support; they have no effect. `envtest.py` installs it where envtest looks.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from gateway.release.minors import (
    DEFAULT,
    GIT_VERSIONS,
    check_emulated,
    compatible_with,
    emulated_minor,
    minor_of,
    minor_of_assets,
)
from gateway.settings.config import AUTHORIZATION_MODES
from gateway.settings.flags import FLAGS, PREFIX
from gateway.settings.foreign_flags import ALIASES, FIXED, why_not

CHOICE = "ENVTEST_K8S_VERSION"  # the variable by which test suites choose the version of envtest's binaries

_KNOWN = {flag.name: flag for flag in FLAGS}
_SHORT = {"v": "v", "h": "help"}
_FALSE = frozenset({"false", "f", "0"})
_BOOLEANS = _FALSE | {"true", "t", "1"}


def translated(arguments: Sequence[str], environment: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Translates kube-apiserver's flags. Returns the gateway's flags, and the flags and values that have no effect.

    All spellings of pflag are accepted: `--name=value`, `--name value`, a switch alone, underscores, lists in one flag
    or in several, `-v4`. `environment` has the names of environment variables, some of which set flags.
    """
    taken: dict[str, str] = {}
    lacking: dict[str, None] = {}
    minors = _minors(arguments)
    for name, value in _pairs(arguments):
        name = ALIASES.get(name, name)
        if name not in _KNOWN:
            if name in FIXED and not why_not(name, value or "true"):
                continue
            lacking[f"--{name}"] = None
            continue
        served, not_served = _split(name, value, minors)
        lacking |= dict.fromkeys(not_served)
        if served or not not_served:
            flag = _KNOWN[name]
            taken[name] = f"{taken[name]}{flag.separator}{served}" if name in taken and flag.is_list else served
    if "controllers" not in taken and f"{PREFIX}CONTROLLERS" not in environment:
        taken["controllers"] = "-*"
    _take_pair(taken)
    return [f"--{name}={value}" for name, value in taken.items()], list(lacking)


def _split(name: str, value: str, minors: tuple[str, str, str]) -> tuple[str, list[str]]:
    """The part of a flag's value that the gateway supports, and the other parts, each as `--name=part`."""
    known: Collection[str]
    if name == "runtime-config":
        from gateway.kinds.enablement import is_elsewhere
        from gateway.release.release import release_of

        release = release_of(minor=minors[1], emulated=minors[0])
        values = _listed(value)
        pairs = [each.partition("=") for each in values]
        known = [key for key, _, on in pairs if on.strip().lower() in _FALSE or not is_elsewhere(key.strip(), release)]
    elif name == "authorization-mode":
        known, values = AUTHORIZATION_MODES, _listed(value)
    elif name == "feature-gates":
        return _split_gates([each.removeprefix("kube:") for each in _listed(value)], *minors)
    else:
        return value, []
    served = [each for each in values if each.partition("=")[0] in known]
    return ",".join(served), [f"--{name}={each}" for each in values if each not in served]


def _split_gates(values: list[str], minor: str, binary: str, compatible: str) -> tuple[str, list[str]]:
    """The feature gate settings that the gateway accepts as version `binary` emulating `minor`, as one value, and the
    others, each as `--feature-gates=setting`.
    """
    from gateway.release.gates import emulated, unserved

    gates = emulated(minor, binary, compatible)

    said = {name.strip(): on.strip().lower() not in _FALSE for name, _, on in (each.partition("=") for each in values)}
    refused = {each.partition("=")[0] for each in unserved(gates, said)}
    names = gates.keys() - refused | ({"AllAlpha"} if not said.get("AllAlpha") else set())
    served = [each for each in values if each.partition("=")[0].strip() in names]
    return ",".join(served), [f"--feature-gates={each}" for each in values if each not in served]


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names of flags with their values. A word that is neither is yielded like a flag, so that it is reported."""
    words = deque(arguments)
    while words:
        word = words.popleft()
        name, separator, value = word.removeprefix("--").partition("=")
        if word[:1] == "-" != word[1:2] and word[1:2] in _SHORT:  # -v, -v4, -v=4
            name, value = _SHORT[word[1]], word[2:].removeprefix("=")
            separator = value
        name = name.replace("_", "-")
        if not separator and word.startswith("-"):
            flag = _KNOWN.get(name)
            is_switch = flag is not None and flag.is_switch
            if words and (words[0].lower() in _BOOLEANS if is_switch else words[0][:2] != "--"):
                value = words.popleft()
            elif is_switch:
                value = "true"
        yield name, value


def _take_pair(taken: dict[str, str]) -> None:
    """Uses the serving certificate in --cert-dir, if there is one, as kube-apiserver does. Changes `taken`."""
    directory = Path(taken.get("cert-dir", "."))
    certificate, key = directory / "apiserver.crt", directory / "apiserver.key"
    ours = directory / "addresses"  # the gateway writes this file beside the certificates that it generates
    if "tls-cert-file" not in taken and certificate.is_file() and key.is_file() and not ours.exists():
        taken |= {"tls-cert-file": str(certificate), "tls-private-key-file": str(key)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a server with kube-apiserver's flags; returns the exit status."""
    from gateway.commands.cli import main as run

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        chosen = minor_of_assets(os.environ.get(CHOICE, ""))
    except ValueError as error:
        print(f"kube-apiserver: {CHOICE}={os.environ[CHOICE]}: {error}", file=sys.stderr)
        return 1
    if chosen and f"{PREFIX}KUBERNETES_VERSION" not in os.environ:
        given.insert(0, f"--kubernetes-version={chosen}")  # first, so that a given flag wins
    if given[-1:] in (["--version"], ["--version=true"]):
        print(f"Kubernetes {GIT_VERSIONS[_minor(given[:-1])]}")
        return 0
    if {"--help", "-h"} & set(given):  # envtest finds the supported flags in the help
        print("kube-apiserver [flags]\n\nFlags:")
        for flag in FLAGS:
            print(f"      --{flag.name} {flag.metavar}   {flag.help}")
        return 0
    flags, lacking = translated(given, os.environ)
    if lacking:
        print(f"kube-apiserver: these flags have no effect on this server: {', '.join(lacking)}", file=sys.stderr)
    return run(["serve", *flags])


def _minor(flags: Sequence[str]) -> str:
    """The minor of the last --kubernetes-version; the default without that flag, or with a value that is refused."""
    named = [value for name, value in _pairs(flags) if name == "kubernetes-version"]
    try:
        return minor_of(named[-1]) if named else DEFAULT
    except ValueError:
        return DEFAULT  # `serve` refuses the value, with a message


def _minors(flags: Sequence[str]) -> tuple[str, str, str]:
    """The emulated minor, the server's own, and the minCompatibilityVersion.

    Without their flags, or with values that are refused, they are the defaults.
    """
    said, binary = dict(_pairs(flags)), _minor(flags)
    given = (said.get("emulated-version"), said.get("min-compatibility-version"))
    try:
        minor, compatible = (emulated_minor(each) if each else "" for each in given)
        minor = minor or binary
        compatible = compatible or compatible_with(minor, binary)
        check_emulated(minor, binary, compatible)
    except ValueError:
        return binary, binary, compatible_with(binary, binary)  # `serve` refuses the value, with a message
    return minor, binary, compatible


if __name__ == "__main__":
    sys.exit(main())
