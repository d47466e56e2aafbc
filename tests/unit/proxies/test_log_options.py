"""Options of logs: errors come in kube-apiserver's order, and valid options reach the kubelet."""

from __future__ import annotations

import pytest

from gateway.http.exchange import parse_query
from gateway.http.status import StatusError
from gateway.proxies.log_options import log_options


@pytest.mark.parametrize(
    ("query", "passed"),
    [
        ("", ""),
        ("follow=true&timestamps=1&previous=&container=c&pretty=true", "follow=true&previous=true&timestamps=true"),
        ("follow=false&previous=0", ""),
        ("tailLines=0&limitBytes=1&sinceSeconds=60", "limitBytes=1&sinceSeconds=60&tailLines=0"),
        ("sinceTime=2026-01-01T02:00:00%2B02:00", "sinceTime=2026-01-01T00%3A00%3A00Z"),
    ],
)
def test_what_kubelets_are_asked(query: str, passed: str) -> None:
    assert log_options("p", parse_query(query.encode())).query == passed


@pytest.mark.parametrize(
    ("query", "code", "fields"),
    [
        (
            "tailLines=-1&limitBytes=0&sinceSeconds=0&stream=All",
            422,
            ["tailLines", "limitBytes", "sinceSeconds", "stream"],
        ),
        ("sinceSeconds=0&sinceTime=2026-01-01T00:00:00Z", 422, ["[]"]),
        ("tailLines=" + "9" * 5000, 400, []),
        ("sinceTime=now", 400, []),
    ],
)
def test_what_is_wrong(query: str, code: int, fields: list[str]) -> None:
    with pytest.raises(StatusError) as raised:
        log_options("p", parse_query(query.encode()))
    assert raised.value.code == code
    assert [each["field"] for each in (raised.value.details or {}).get("causes", [])] == fields
