"""The first lines of the log warn of settings that have no effect."""

from __future__ import annotations

import pytest

from gateway.launch.start_lines import say_start
from gateway.settings.config import Settings
from gateway.settings.runtime_config import overrides


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("api/all=true", "api/all"),
        ("api/beta=true,api/alpha=true,apps/v1=true", "api/beta, api/alpha"),
        ("api/all=false,api/ga=true", None),
        ("api/beta=false", None),
    ],
)
def test_stages_that_this_server_does_not_have_are_warned_of(
    given: str, named: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", logger="gateway"):
        say_start(Settings(runtime_config=overrides(given)))
    said = [
        vars(record)["given"]
        for record in caplog.records
        if record.getMessage() == "--runtime-config: this server lacks most alpha and beta versions"
    ]
    assert said == ([] if named is None else [named])
