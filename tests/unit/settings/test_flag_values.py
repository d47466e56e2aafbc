"""Checks that the values of flags reach the settings of audit, webhooks, limits and the like, which have own tests."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from gateway.access import tokens
from gateway.access.modes import webhook_settings
from gateway.audit.audit import audit_of
from gateway.audit.batches import Batching
from gateway.audit.rotation import Keeping
from gateway.audit.sink import AuditMode, LogSink
from gateway.audit.truncation import EventSizes
from gateway.audit.webhook import WebhookSink
from gateway.credentials.front_proxy import front_proxy_identity
from gateway.http.limits import Farewell, limits_of
from gateway.settings.command_line import read_flags
from gateway.settings.config import InvalidSettings, Settings
from gateway.settings.flags import FLAGS, settings_from, shown_default

POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": ""}}],
    "current-context": "a",
}


def settings(*arguments: str) -> Settings:
    return settings_from(read_flags((*arguments, "--etcd-servers=http://a:2379")).texts, {})


@pytest.fixture
def audited(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "kubeconfig").write_text(json.dumps(KUBECONFIG))
    flags = {
        "policy-file": tmp_path / "policy.yaml",
        "log-path": tmp_path / "log",
        "webhook-config-file": tmp_path / "kubeconfig",
    }
    return tuple(f"--audit-{name}={value}" for name, value in flags.items())


SINK = {
    "batch-buffer-size": 11,
    "batch-max-size": 12,
    "batch-max-wait": "13s",
    "batch-throttle-enable": "true",
    "batch-throttle-qps": 14,
    "batch-throttle-burst": 15,
    "truncate-enabled": "true",
    "truncate-max-event-size": 16,
    "truncate-max-batch-size": 17,
    "mode": "batch",
}


async def sinks(arguments: tuple[str, ...]) -> tuple[Any, Any]:
    audit = audit_of(settings(*arguments))
    log, webhook = audit._sinks
    await audit.close()
    return log, webhook


async def test_sinks_of_audit_are_as_the_flags_say(audited: tuple[str, ...]) -> None:
    said = [f"--audit-{sink}-{name}={value}" for sink in ("log", "webhook") for name, value in SINK.items()]
    said += ["--audit-log-format=legacy", "--audit-webhook-initial-backoff=18s"]
    log, webhook = await sinks((*audited, *said))
    assert isinstance(log, LogSink) and isinstance(webhook, WebhookSink)
    batching = Batching(11, 12, 13.0, 0.0, 14.0, 15)
    assert (log._batching, webhook._batching) == (batching, replace(batching, pause=18.0))
    assert (log._bounds, webhook._bounds) == (EventSizes(16, 17), EventSizes(16, 17))
    assert (log._mode, webhook._mode) == (AuditMode.BATCH, AuditMode.BATCH)
    assert log._encode.__name__ == "legacy"


async def test_bounds_and_throttles_of_audit_are_those_of_the_defaults(audited: tuple[str, ...]) -> None:
    log, webhook = await sinks(audited)
    assert (log._batching.rate, webhook._batching.rate) == (0.0, 10.0)
    assert (log._bounds, webhook._bounds) == (None, None)
    assert (log._mode, webhook._mode, log._encode.__name__) == (AuditMode.BLOCKING, AuditMode.BATCH, "line")


async def test_files_of_audit_are_kept_as_the_flags_say(audited: tuple[str, ...]) -> None:
    flags = ("maxsize=1", "maxbackup=2", "maxage=3", "compress=true")
    log, _ = await sinks((*audited, *(f"--audit-log-{flag}" for flag in flags)))
    assert log._file._keeping == Keeping(1, 2, 3, True)


def test_the_authorization_webhook_is_as_the_flags_say(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(KUBECONFIG))
    found = webhook_settings(
        settings(
            "--authorization-mode=Webhook",
            f"--authorization-webhook-config-file={file}",
            "--authorization-webhook-version=v1",
            "--authorization-webhook-cache-authorized-ttl=3s",
            "--authorization-webhook-cache-unauthorized-ttl=4s",
        )
    )
    values = [getattr(found, each.name) for each in fields(found)]
    assert [value for value in values if value in (file, "v1", 3.0, 4.0)] == [file, "v1", 3.0, 4.0]


def test_the_token_webhook_is_as_the_flags_say(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(KUBECONFIG))
    name = "--authentication-token-webhook"
    found = tokens._webhook(settings(f"{name}-config-file={file}", f"{name}-cache-ttl=7s"), ())
    assert 7.0 in [getattr(found, each) for each in vars(found) if "ttl" in each]


def test_the_front_proxy_has_the_certificate_of_the_flags(tmp_path: Path) -> None:
    for name in ("a.crt", "a.key"):
        (tmp_path / name).touch()
    said = settings(f"--proxy-client-cert-file={tmp_path / 'a.crt'}", f"--proxy-client-key-file={tmp_path / 'a.key'}")
    assert set(front_proxy_identity(said).paths) == {tmp_path / "a.crt", tmp_path / "a.key"}


@pytest.mark.parametrize("sink", ["log", "webhook"])
def test_events_have_one_version(audited: tuple[str, ...], sink: str) -> None:
    with pytest.raises(InvalidSettings, match=f"--audit-{sink}-version"):
        settings(*audited, f"--audit-{sink}-version=audit.k8s.io/v1beta1")


def test_limits_of_connections_are_as_the_flags_say() -> None:
    found = limits_of(2.0, 7)
    assert (found.head_seconds, found.body_rate, found.body_window) == (2.0, 7, 2.0)


def test_a_share_of_answers_ends_its_connection() -> None:
    assert not any(Farewell().is_due() for _ in range(1000))
    assert all(Farewell(chance=1.0).is_due() for _ in range(1000))


def test_rates_are_no_durations() -> None:
    shown = {flag.name: shown_default(flag) for flag in FLAGS}
    assert (shown["audit-webhook-batch-throttle-qps"], shown["audit-webhook-initial-backoff"]) == ("10", "10s")
