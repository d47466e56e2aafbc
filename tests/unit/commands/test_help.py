"""Help and completion list all flags, in kube-apiserver's groups. A failure is one line and exit status 1."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gateway.commands.doctor import lines
from gateway.doctor.finding import fail
from gateway.settings.command_line import read_flags
from gateway.settings.flags import FLAGS, GROUPS, PREFIX

ROOT = Path(__file__).parents[3]

# of `kube-apiserver --help`
GROUP_OF = {
    "advertise-address": "Generic",
    "feature-gates": "Generic",
    "max-requests-inflight": "Generic",
    "etcd-servers": "Etcd",
    "delete-collection-workers": "Etcd",
    "bind-address": "Secure serving",
    "cert-dir": "Secure serving",
    "audit-policy-file": "Auditing",
    "enable-priority-and-fairness": "Features",
    "anonymous-auth": "Authentication",
    "client-ca-file": "Authentication",
    "service-account-issuer": "Authentication",
    "authorization-mode": "Authorization",
    "enable-admission-plugins": "Admission",
    "allow-privileged": "Misc",
    "event-ttl": "Misc",
    "service-account-signing-key-file": "Misc",
    "service-cluster-ip-range": "Misc",
}


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith((PREFIX, "_APISERVER"))}
    command = [sys.executable, "-m", "gateway", *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=ROOT, env={**kept, **environment}, check=False
    )


def test_flags_are_grouped_as_kube_apiservers() -> None:
    groups = {flag.name: title for title, flags in GROUPS for flag in flags}
    assert {name: groups[name] for name in GROUP_OF} == GROUP_OF


def test_help_of_serve_has_every_flag_under_its_group() -> None:
    outcome = run("serve", "--help", COLUMNS="200")
    assert outcome.returncode == 0 and "\x1b" not in outcome.stdout
    sections = re.split(r"^(\w[\w ]*) flags:$", outcome.stdout, flags=re.MULTILINE)
    found = {
        title: re.findall(r"^  --([\w-]+)", text, re.MULTILINE)
        for title, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    assert found.pop("Global") == ["config"]
    assert found == {title: [flag.name for flag in flags] for title, flags in GROUPS}
    assert "--etcd-compaction-interval DURATION  time between compactions of etcd; 0 never compacts (default 5m)" in (
        re.sub(r" {3,}", "  ", outcome.stdout.replace("\n                    ", " "))
    )


def test_examples_of_serve_can_be_typed() -> None:
    said = run("serve", "--help", COLUMNS="80").stdout.replace("\\\n", "")
    examples = re.findall(r"^ +apiserver-gateway serve (.*)$", said, re.MULTILINE)
    assert len(examples) == 3
    for example in examples:
        read_flags(example.split())


def test_what_the_doctor_finds_fits_a_terminal() -> None:
    finding = fail("etcd https://10.0.0.1:2379", "it does not answer " * 8, "start it, or name another one " * 6)
    for width in (80, 120):
        found = [click.unstyle(line) for line in lines(finding, width)]
        assert found[0].startswith("FAIL etcd https://10.0.0.1:2379: it does") and len(found) > 3
        assert width - 30 < max(map(len, found)) <= width
        assert " ".join(found).split() == ["FAIL", *f"{finding.check}: {finding.said} {finding.remedy}".split()]


@pytest.mark.parametrize("words", [("--help",), ("up", "-h"), ("kubeconfig", "--help"), ("etcd", "install", "-h")])
def test_every_command_has_help(words: tuple[str, ...]) -> None:
    outcome = run(*words)
    assert outcome.returncode == 0 and outcome.stdout.startswith("Usage: apiserver-gateway")


def test_the_version_is_told() -> None:
    assert re.fullmatch(r"apiserver-gateway( \S+)?, Kubernetes v1\.\d+\.\d+\n", run("--version").stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nonsense",), "apiserver-gateway: no such command 'nonsense'; see apiserver-gateway --help"),
        (("kubeconfig",), "apiserver-gateway: missing option '--user'; see apiserver-gateway kubeconfig --help"),
        (("serve", "--workres=1"), "apiserver-gateway: there is no flag --workres (do you mean --workers?); see"),
        (("serve",), "apiserver-gateway: no etcd to store in"),
        (("envtest-assets", "/proc/none"), "apiserver-gateway: cannot use /proc/none: No such file or directory"),
        (("etcd", "install", "--sha256=x"), "apiserver-gateway: x is not a SHA-256"),
        (("up", "--workres=1", "--", "true"), "apiserver-gateway: there is no flag --workres (do you mean --workers?)"),
        (("serve", "--config=/none"), "apiserver-gateway: --config: cannot read /none: No such file or directory"),
    ],
)
def test_failures_are_one_line(words: tuple[str, ...], said: str) -> None:
    outcome = run(*words)
    assert outcome.returncode == 1 and not outcome.stdout
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(said)


def complete(shell: str, *words: str) -> list[str]:
    """What a shell offers for the last word, which is not finished."""
    asked = {"COMP_WORDS": " ".join(("apiserver-gateway", *words)), "COMP_CWORD": str(len(words))}
    if shell == "fish":
        asked["COMP_CWORD"] = words[-1]
    outcome = run(_APISERVER_GATEWAY_COMPLETE=f"{shell}_complete", **asked)
    assert outcome.returncode == 0, outcome.stderr
    lines = outcome.stdout.splitlines()
    if shell == "zsh":
        return lines[1::3]
    return [line.partition(",")[2].partition("\t")[0] for line in lines]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_what_there_is(shell: str) -> None:
    assert complete(shell, "ser") == ["serve"]
    assert complete(shell, "serve", "--etcd-ser") == ["--etcd-servers", "--etcd-servers-overrides"]
    assert complete(shell, "serve", "--log-format", "j") == ["json"]
    assert complete(shell, "serve", "--authorization-mode", "RBAC,No") == ["RBAC,Node"]
    assert complete(shell, "up", "--anonymous-auth", "f") == ["false"]
    assert complete(shell, "etcd", "install", "--sh") == ["--sha256"]
    assert set(complete(shell, "completion", "")) == {"bash", "zsh", "fish"}


def test_values_after_an_equals_sign() -> None:
    assert complete("bash", "serve", "--log-format", "=", "j") == ["json"]
    for shell in ("zsh", "fish"):
        assert complete(shell, "serve", "--log-format=j") == ["--log-format=json"]
        assert complete(shell, "serve", "--tls-cert-file=pypro") == ["--tls-cert-file=pyproject.toml"]
        assert complete(shell, "serve", "--cert-dir=storage/et") == ["--cert-dir=storage/etcd/"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_such_as_the_shell_reads(shell: str) -> None:
    script = run("completion", shell).stdout
    assert "apiserver-gateway" in script and "_APISERVER_GATEWAY_COMPLETE" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


BASH = """
source <(apiserver-gateway completion bash)
COMP_WORDS=(apiserver-gateway serve --audit-log-mode = bl)
COMP_CWORD=4
_apiserver_gateway_completion apiserver-gateway
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """
apiserver-gateway completion fish | source
complete -C "apiserver-gateway serve --audit-log-mode=bl" | cut -f1
"""
ZSH = """
autoload -Uz compinit && compinit -u -D
source <(apiserver-gateway completion zsh)
compadd() { print -l -- "${(@P)@[-1]}"; }
_describe() { print -l -- "${(@)${(@P)3}%%:*}"; }
words=(apiserver-gateway serve --audit-log-mode=bl)
CURRENT=3
_apiserver_gateway_completion
"""


@pytest.mark.parametrize(
    ("shell", "asks", "before"),
    [("bash", BASH, ""), ("fish", FISH, "--audit-log-mode="), ("zsh", ZSH, "--audit-log-mode=")],
)
def test_shells_complete(tmp_path: Path, shell: str, asks: str, before: str) -> None:
    """The scripts at work, in those shells that there are."""
    if shell != "bash" and not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    (program := tmp_path / "apiserver-gateway").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gateway "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    outcome = subprocess.run(
        [shell, "-c", asks], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert outcome.stdout.split() == [f"{before}blocking", f"{before}blocking-strict"], outcome.stderr


def test_every_flag_can_be_completed() -> None:
    assert set(complete("bash", "serve", "--")) >= {f"--{flag.name}" for flag in FLAGS}


def test_a_start_imports_nothing_for_people() -> None:
    code = (
        "import sys; from gateway.commands.cli import main; main(['serve', '--embedded-etcd', '--workers=0'])\n"
        "print(sorted({'click', 'rich', 'argparse', 'yaml'} & set(sys.modules)))"
    )
    outcome = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert outcome.stdout == "[]\n"


def test_the_version_is_a_command_too() -> None:
    assert run("version").stdout == run("--version").stdout
    assert re.fullmatch(r"apiserver-gateway [\w.+-]+, Kubernetes v1\.\d+\.\d+\n", run("version").stdout)


def test_an_unknown_command_is_told_with_one_that_is_named_alike() -> None:
    outcome = run("srve")
    assert outcome.returncode == 1 and "no such command 'srve' (do you mean serve?)" in outcome.stderr
    assert "do you mean" not in run("xyzzy").stderr


def test_make_help_names_every_target() -> None:
    said = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()
    assert [line.split()[0] for line in said.splitlines()] == targets
