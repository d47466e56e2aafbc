"""The `kube-apiserver` command, for programs that start one, takes all real flags in every spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.commands.kube_apiserver import CHOICE, main, translated
from gateway.release.minors import DEFAULT, GIT_VERSIONS, minor_of_assets
from gateway.settings.command_line import read_flags
from gateway.settings.flags import FLAGS, PREFIX, settings_from
from gateway.settings.foreign_flags import ALIASES, why_not

ALL = {f"{PREFIX}CONTROLLERS"}  # the environment of somebody who says which controllers
KNOWN = {flag.name for flag in FLAGS}
VALUES = {"ip": "127.0.0.1", "duration": "1m0s", "int": "10", "float": "0.01", "float32": "0.5", "Level": "4"}


def flags_of_kube_apiserver() -> list[tuple[str, str, str]]:
    """Names, types and defaults; `tests/upstream/kube_apiserver_flags.py` writes them."""
    lines = (Path(__file__).parent / "kube-apiserver.flags").read_text().splitlines()[1:]
    found = [(name, kind, default) for name, kind, default in (f"{line}  ".split(" ", 2) for line in lines)]
    return [(name, kind, default.strip()) for name, kind, default in found if name not in ("help", "version")]


@pytest.mark.parametrize("separate", [False, True])
def test_what_it_lacks_is_named_and_nothing_else(separate: bool) -> None:
    lacking = [(name, kind) for name, kind, _ in flags_of_kube_apiserver() if name not in KNOWN | ALIASES.keys()]
    words, named = list[str](), list[str]()
    for name, kind in lacking:
        value = VALUES.get(kind, "a,b")
        if kind == "bool":
            value = "true" if separate else "false"
            words.append(f"--{name}" if separate else f"--{name}=false")
        else:
            words += [f"--{name}", value] if separate else [f"--{name}={value}"]
        if why_not(name, value):  # what is so anyway needs no word
            named.append(f"--{name}")
    assert len(named) >= 38
    assert translated(words, ALL) == ([], named)


def test_it_takes_kube_apiservers_defaults() -> None:
    for name, _, default in flags_of_kube_apiserver():
        if name in KNOWN and default:
            flags, lacking = translated([f"--{name}={default}", "--etcd-servers", "http://127.0.0.1:1"])
            assert not lacking
            settings_from(read_flags(flags).texts, {})


@pytest.mark.parametrize(
    ("words", "flags", "lacking"),
    [
        (["--secure_port", "1", "--anonymous-auth", "--allow-privileged=F"], {"secure-port": "1"}, []),
        (["--anonymous-auth", "false", "--enable_garbage_collector"], {"anonymous-auth": "false"}, []),
        (["--service-account-key-file=a", "--service-account-key-file=b,c"], {"service-account-key-file": "a,b,c"}, []),
        (["--secure-port=1", "--secure-port=2"], {"secure-port": "2"}, []),
        (["--authorization-mode=Node,ABAC", "--authorization-mode", "RBAC"], {"authorization-mode": "Node,RBAC"}, None),
        (["--authorization-mode=ABAC"], {"authorization-mode": None}, ["--authorization-mode=ABAC"]),
        (
            ["--feature-gates=kube:CBORServingAndStorage=true,A=true", "--feature-gates", "A=true"],
            {"feature-gates": "CBORServingAndStorage=true"},
            ["--feature-gates=A=true"],
        ),
        (
            ["--feature-gates=MemoryQoS=true,KubeletTracing=true,AllAlpha=true,AllBeta=false"],
            {"feature-gates": "MemoryQoS=true,KubeletTracing=true"},
            ["--feature-gates=AllAlpha=true", "--feature-gates=AllBeta=false"],
        ),
        (["-v4", "-v", "4", "-v=4", "--v=4", "--v", "4"], {"v": "4"}, []),
        (
            ["--watch-cache-sizes", "a,b", "--contention-profiling", "stray"],
            {},
            ["--watch-cache-sizes", "--contention-profiling"],
        ),
        (["--tls-sni-cert-key=a,b", "--tls-sni-cert-key", "c,d:e,f"], {"tls-sni-cert-key": "a,b;c,d:e,f"}, []),
        (["--egress-selector-config-file="], {}, ["--egress-selector-config-file"]),
        (["--", "-", "", "---"], {}, None),
    ],
)
def test_all_spellings_of_pflag_are_taken(
    words: list[str], flags: dict[str, str | None], lacking: list[str] | None
) -> None:
    found, named = translated(words)
    taken = dict(each.removeprefix("--").split("=", 1) for each in found)
    assert {name: taken.get(name) for name in flags} == flags
    assert lacking is None or named == lacking


def test_it_has_no_controllers_but_those_asked_for() -> None:
    """As a kube-apiserver: a suite whose objects another program collected is not the suite that was written."""
    assert translated([]) == (["--controllers=-*"], [])
    assert translated(["--controllers", "*"]) == (["--controllers=*"], [])
    assert translated(["--controllers=namespace", "--controllers=garbagecollector"])[0] == [
        "--controllers=namespace,garbagecollector"
    ]
    assert translated([], ALL) == ([], [])


@pytest.mark.parametrize(
    ("flags", "gate", "served"),
    [
        (["--kubernetes-version=1.34"], "PodIndexLabel", True),
        ([], "PodIndexLabel", False),
        ([], "DRAResourceClaimGranularStatusAuthorization", True),
        (["--emulated-version=1.35"], "DRAResourceClaimGranularStatusAuthorization", False),
    ],
)
def test_feature_gates_are_those_of_the_minor(flags: list[str], gate: str, served: bool) -> None:
    taken, lacking = translated([*flags, f"--feature-gates={gate}=true"], ALL)
    assert (f"--feature-gates={gate}=true" in taken) is served
    assert (not lacking) is served


@pytest.mark.parametrize(
    ("name", "minor"),
    [("1.35", "1.35"), ("v1.34.1", "1.34"), ("1.35.0-linux-amd64", "1.35"), ("1.36.x!", "1.36"), ("envtest", "")],
)
def test_the_name_of_assets_says_which_minor(name: str, minor: str) -> None:
    assert minor_of_assets(name) == minor


@pytest.mark.parametrize("name", ["1.3", "1.350.0", "1.38.0", "1.30"])
def test_a_minor_that_is_not_served_is_no_other_one(name: str) -> None:
    with pytest.raises(ValueError, match=r"give one of 1\.34, 1\.35, 1\.36, 1\.37"):
        minor_of_assets(name)


@pytest.mark.parametrize(
    ("chosen", "flags", "version"),
    [("", [], GIT_VERSIONS[DEFAULT]), ("1.35.0", [], "v1.35.4"), ("1.35.0", ["--kubernetes-version=1.34"], "v1.34.4")],
)
def test_a_suite_chooses_the_minor(
    chosen: str, flags: list[str], version: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By ENVTEST_K8S_VERSION, or by the script of the assets, which names a flag."""
    monkeypatch.setenv(CHOICE, chosen)
    assert main([*flags, "--version"]) == 0
    assert capsys.readouterr().out == f"Kubernetes {version}\n"


def test_a_minor_that_is_not_served_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(CHOICE, "1.30.0")
    assert main([]) == 1
    assert f"{CHOICE}=1.30.0" in capsys.readouterr().err
