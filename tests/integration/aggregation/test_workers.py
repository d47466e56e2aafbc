"""Several worker processes: one of them checks the availability of extension API servers for all."""

from __future__ import annotations

import re

from apiserver_gateway.testing import api_server
from tests.integration.aggregation.test_extension import SERVICES, registered
from tests.integration.server.client import ask
from tests.until import until

NAME = "v1.gone.example.com"
FOUND = re.compile(rf'aggregator_unavailable_apiservice_total{{name="{NAME}",reason="ServiceNotFound"}} (\d+)')


def test_one_process_looks_and_all_answer_as_it_found() -> None:
    with api_server("--workers=2") as server:
        assert ask(server, "POST", SERVICES, registered(NAME, 443, "")).status == 201

        def counted() -> list[str]:
            return FOUND.findall(ask(server, "GET", "/metrics").body.decode())

        until(lambda: bool(counted()))
        until(lambda: all(ask(server, "GET", "/apis/gone.example.com/v1/things").status == 503 for _ in range(8)))
        assert counted() == ["1"]  # the sum of all processes
