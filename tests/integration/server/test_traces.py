"""--tracing-config-file with a real OTLP receiver: the spans of requests, and the propagation of the trace context."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from apiserver_gateway.testing import ApiServer, ServerDidNotStart, api_server
from apiserver_gateway.testing.webhooks import webhook
from storage.embedded import EmbeddedEtcd, find_binary
from storage.embedded.binary import binary_version
from tests.integration.server.client import ask
from tests.limits import within

MAPS = "/api/v1/namespaces/default/configmaps"
OPEN_METRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}
TOKENS = 'ada-token,ada,ada,"dev"\n'


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps the spans that it receives."""

    def __init__(self) -> None:
        self.port = 0
        self._spans: list[tuple[str, Span]] = []  # with the name of the service
        self._came = threading.Condition()

    def Export(
        self, request: trace_service_pb2.ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> trace_service_pb2.ExportTraceServiceResponse:
        with self._came:
            for resource in request.resource_spans:
                named = {each.key: each.value.string_value for each in resource.resource.attributes}
                self._spans += [(named["service.name"], span) for scope in resource.scope_spans for span in scope.spans]
            self._came.notify_all()
        return trace_service_pb2.ExportTraceServiceResponse()

    def trace(self, trace_id: str, *names: str, service: str = "apiserver") -> dict[str, Span]:
        """The spans of one trace by name, once all given names have come."""

        def found() -> dict[str, Span]:
            return {
                span.name: span for each, span in self._spans if each == service and span.trace_id.hex() == trace_id
            }

        with self._came:
            assert self._came.wait_for(lambda: set(names) <= set(found()), 60), sorted(found())
            return found()

    def named(self, start: str) -> Span:
        """The last span whose name starts like this, once there is one."""

        def found() -> list[Span]:
            return [span for _, span in self._spans if span.name.startswith(start)]

        with self._came:
            assert self._came.wait_for(lambda: bool(found()), 60)
            return found()[-1]


@contextmanager
def collecting() -> Iterator[Collector]:
    collector, server = Collector(), grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    collector.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield collector
    finally:
        server.stop(None)


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


def configuration(directory: Path, port: int, rate: int) -> Path:
    path = directory / f"tracing-{rate}.yaml"
    path.write_text(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"
        f"endpoint: 127.0.0.1:{port}\nsamplingRatePerMillion: {rate}\n"
    )
    return path


@pytest.fixture(scope="module")
def server(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    directory = tmp_path_factory.mktemp("tracing")
    (directory / "tokens").write_text(TOKENS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")  # milliseconds until spans are sent
        patch.setenv("ETCD_ENABLE_DISTRIBUTED_TRACING", "true")  # for etcd 3.6
        patch.setenv("ETCD_DISTRIBUTED_TRACING_ADDRESS", f"127.0.0.1:{collector.port}")
        with EmbeddedEtcd() as etcd:
            flag = f"--tracing-config-file={configuration(directory, collector.port, 0)}"
            tokens = f"--token-auth-file={directory / 'tokens'}"
            with api_server(flag, tokens, "--controllers=-*", etcd_servers=etcd.endpoint) as made:
                yield made


def parent(number: int, sampled: bool = True) -> tuple[str, dict[str, str]]:
    """A trace ID, and a client's traceparent header for it."""
    trace = f"{number:032x}"
    return trace, {"traceparent": f"00-{trace}-00f067aa0ba902b7-{'01' if sampled else '00'}"}


def test_a_request_is_a_span_of_its_clients_trace_with_its_stages_below(
    server: ApiServer, collector: Collector
) -> None:
    trace, headers = parent(0xA1)
    answer = ask(server, "POST", MAPS, {"metadata": {"name": "a"}}, headers=headers)
    assert answer.status == 201
    root_name = "POST /api/v1/namespaces/{:namespace}/configmaps"
    spans = collector.trace(trace, root_name, "Create", "authorization", "priorityandfairness", "Create etcd3")
    root = spans[root_name]
    assert root.parent_span_id.hex() == "00f067aa0ba902b7" and root.kind == Span.SPAN_KIND_SERVER
    attributes = {each.key: each.value for each in root.attributes}
    assert attributes["http.response.status_code"].int_value == 201
    assert attributes["audit-id"].string_value == answer.headers["audit-id"]
    assert spans["Create"].parent_span_id == spans["authorization"].parent_span_id == root.span_id
    assert spans["Create etcd3"].parent_span_id == spans["Create"].span_id
    for span in spans.values():
        assert root.start_time_unix_nano - 1_000_000 <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= root.end_time_unix_nano + 1_000_000


def test_what_nobody_samples_is_not_sent(server: ApiServer, collector: Collector) -> None:
    skipped, headers = parent(0xB1, sampled=False)
    assert ask(server, "GET", MAPS, headers=headers).status == 200
    assert ask(server, "GET", MAPS).status == 200
    sampled, headers = parent(0xB2)
    assert ask(server, "GET", f"{MAPS}/absent", headers=headers).status == 404
    collector.trace(sampled, "Get")  # it came later than the request that is not sampled
    assert not collector.trace(skipped)


def test_only_administrators_say_what_is_sampled(server: ApiServer, collector: Collector, tmp_path: Path) -> None:
    """Like kube-apiserver, only system:masters decides about sampling. For others the trace context becomes a link."""
    trace, headers = parent(0xC1)
    ask(server, "GET", MAPS, token="ada-token", headers=headers)
    later, again = parent(0xC2)
    ask(server, "GET", MAPS, headers=again)
    collector.trace(later, "List")
    assert not collector.trace(trace)
    (tmp_path / "tokens").write_text(TOKENS)
    flags = (
        f"--tracing-config-file={configuration(tmp_path, collector.port, 1_000_000)}",
        f"--token-auth-file={tmp_path / 'tokens'}",
    )
    with api_server(*flags) as all_sampled:
        assert ask(all_sampled, "GET", "/apis/apps/v1/deployments", token="ada-token", headers=headers).status == 403
        span = collector.named("GET /apis/apps/v1/deployments")
    assert not span.parent_span_id and span.trace_id.hex() != trace
    assert [link.trace_id.hex() for link in span.links] == [trace]


def test_webhooks_and_etcd_join_the_trace(server: ApiServer, collector: Collector) -> None:
    with webhook(server, lambda request: None, "configmaps", operations=("CREATE",)) as served:
        trace, headers = parent(0xD1)
        assert ask(server, "POST", MAPS, {"metadata": {"name": "d"}}, headers=headers).status == 201
    spans = collector.trace(trace, "Call validating webhook", "Create etcd3")
    given = served.headers[-1]["traceparent"]
    assert given == f"00-{trace}-{spans['Call validating webhook'].span_id.hex()}-01"
    attributes = {each.key: each.value.string_value for each in spans["Call validating webhook"].attributes}
    assert attributes["operation"] == "CREATE" and attributes["resource"] == "/v1, Resource=configmaps"
    if binary_version(find_binary()) < (3, 6, 0):
        return  # earlier etcds have no reliable spans
    written = collector.trace(trace, "etcdserverpb.KV/Txn", service="etcd")["etcdserverpb.KV/Txn"]
    assert written.parent_span_id == spans["Create etcd3"].span_id


def test_histograms_name_traces_as_examples(server: ApiServer) -> None:
    trace, headers = parent(0xE1)
    ask(server, "GET", f"{MAPS}/example", headers=headers)
    text = ask(server, "GET", "/metrics", headers=OPEN_METRICS).body.decode()
    assert f'# {{trace_id="{trace}"}}' in text


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("samplingRatePerMillion: 1000001", "must be less than or equal to one million"),
        ("samplingRatePerMillion: -1", "sampling rate must be positive"),
        ("endpoint: http://localhost:4317", "unsupported scheme: http"),
        ("rate: 1", 'unknown field "rate"'),
    ],
)
def test_a_wrong_configuration_is_refused_in_a_line(tmp_path: Path, said: str, refused: str) -> None:
    path = tmp_path / "tracing.yaml"
    path.write_text(f"apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\n{said}\n")
    refusal = pytest.raises(ServerDidNotStart, match=refused)
    # the start fails immediately
    with within(10.0), refusal as error, api_server(f"--tracing-config-file={path}"):
        pass
    assert "--tracing-config-file" in str(error.value) and "Traceback" not in str(error.value)
