"""--config: a YAML file of flags, with lower priority than the environment and higher than the defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.settings.command_line import CommandLine, settings_of
from gateway.settings.config import InvalidSettings, Settings

FILE = """
embedded-etcd: true
secure-port: 7443
min-body-rate: 1
etcd-compaction-interval: 1m
tls-san: [a.example.org, b.example.org]
disable-admission-plugins: ServiceAccount,Priority
feature-gates: {CBORServingAndStorage: true}
log-format:
"""


def read(tmp_path: Path, text: str, given: dict[str, str] | None = None, **environment: str) -> Settings:
    (path := tmp_path / "serve.yaml").write_text(text)
    return settings_of(CommandLine(given or {}, path), environment)


def test_values_are_those_that_flags_take(tmp_path: Path) -> None:
    found = read(tmp_path, FILE)
    assert found == Settings(
        embedded_etcd=True,
        secure_port=7443,
        min_body_rate=1,
        etcd_compaction_interval=60.0,
        tls_san=("a.example.org", "b.example.org"),
        disable_admission_plugins=frozenset({"ServiceAccount", "Priority"}),
        feature_gates=(("CBORServingAndStorage", True),),
    )


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    variables = {"APISERVER_GATEWAY_SECURE_PORT": "2", "APISERVER_GATEWAY_MIN_BODY_RATE": "2"}
    found = read(tmp_path, FILE, {"secure-port": "3"}, **variables)
    assert (found.secure_port, found.min_body_rate, found.etcd_compaction_interval) == (3, 2, 60.0)
    assert found.shutdown_timeout == Settings().shutdown_timeout


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    (path := tmp_path / "serve.yaml").write_text(FILE)
    assert settings_of(CommandLine(), {"APISERVER_GATEWAY_CONFIG": str(path)}).secure_port == 7443


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("secure-prot: 1", "there is no flag secure-prot; do you mean secure-port?"),
        ("zzz: 1", "there is no flag zzz; `apiserver-gateway serve --help` lists all"),
        ("embedded-etcd: 1", "embedded-etcd: give true or false"),
        ("secure-port: [1]", "secure-port: give one text or number (PORT)"),
        ("secure-port: {a: 1}", "secure-port: give one text or number (PORT)"),
        ("workers: true", "workers: give one text or number (N)"),
        ("tls-san: [{a: b}]", "tls-san: give a text, or a list of them (HOSTS)"),
        ("tls-san: ['a,b']", "tls-san: give a text, or a list of them (HOSTS)"),
        ("feature-gates: {A: x}", "feature-gates: give a mapping of names to true or false"),
        ("- secure-port", "give a mapping of flags' names"),
        ("secure-port: 99999", "secure-port=99999: give a port from 0 to 65535"),
        ("admin-token: a b", "admin-token=***: give a token without"),
        ("a: [", "serve.yaml: "),
        ("\0", "serve.yaml: "),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        read(tmp_path, f"{text}\n")
    said = str(caught.value)
    assert said.startswith("--config") and message in said and "\n" not in said


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match=r"--config: cannot read .*/none: No such file"):
        settings_of(CommandLine({}, tmp_path / "none"), {})
