"""Schedules and names of time zones that are long: they are refused, after time in proportion to their length."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.cel.moments import Timestamp, in_zone
from gateway.cel.values import EvaluationError
from gateway.text import time_zones
from gateway.validation.cron import location_error, schedule_error, validate_time_zone
from tests.hostile.doubling import is_in_proportion
from tests.hostile.probe import held_at_most
from tests.integration.server.client import ask

CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs?dryRun=All"
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
LONG = 100_000
NAMES = {"parts": "a/" * LONG + "b", "a part": "a" * LONG, "a zone and parts": "Europe/Berlin" + "/a" * LONG}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_long_name_is_no_time_zone(name: str) -> None:
    """zoneinfo recursed once for each part, and found the end of the stack."""
    error = "not a directory" if name.startswith("Europe") else f"unknown time zone {name}"
    assert location_error(name) == error
    assert schedule_error(f"TZ={name} * * * * *") == f"provided bad location {name}: {error}"
    assert validate_time_zone(name, "zone")
    with pytest.raises(EvaluationError, match="unknown time zone"):
        in_zone(Timestamp(0), name)


def test_parts_between_dots_do_not_recurse(monkeypatch: pytest.MonkeyPatch) -> None:
    """zoneinfo also imports a package for each of these; an expression may have used much of the stack already."""
    opened = list[str]()
    monkeypatch.setattr(time_zones, "ZoneInfo", opened.append)
    assert time_zones.zone_named("a." * 120 + "/b") is None
    assert not opened


def test_known_zones_in_directories_are_found() -> None:
    for name in ("Europe/Berlin", "America/Argentina/Buenos_Aires"):
        assert location_error(name) == ""
        assert in_zone(Timestamp(0), name).tzinfo is not None


@pytest.mark.parametrize("pattern", ["@every {}", "TZ={} * * * * *", "{} * * * *"])
@pytest.mark.parametrize("piece", ["1h", "a/", "1,", "1-", "1/", "* "])
def test_a_schedule_takes_time_in_proportion(pattern: str, piece: str) -> None:
    is_in_proportion(lambda size: lambda: schedule_error(pattern.format(piece * size)))


@pytest.mark.parametrize("spec", [{"schedule": "TZ={} * * * * *"}, {"schedule": "* * * * *", "timeZone": "{}"}])
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_cron_job_with_such_a_zone_is_refused(server: ApiServer, spec: dict[str, str], name: str) -> None:
    filled: dict[str, Any] = {key: text.replace("{}", name) for key, text in spec.items()}
    filled["jobTemplate"] = {"spec": {"template": POD}}
    with held_at_most(server, 0.1):
        answer = ask(server, "POST", CRON_JOBS, {"metadata": {"name": "c"}, "spec": filled})
    assert answer.status == 422, answer.body[:300]
