"""The file of --tracing-config-file: a TracingConfiguration, read and validated as kube-apiserver does
(component-base's `tracing/api/v1`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gateway.settings.configuration_file import InvalidConfiguration, Leaf, read_configuration

VERSIONS = ("v1", "v1beta1", "v1alpha1")
DEFAULT_ENDPOINT = "localhost:4317"
MILLION = 1_000_000

_SHAPE = {"endpoint": Leaf.TEXT, "samplingRatePerMillion": Leaf.INTEGER}
_SCHEMES = ("dns", "unix", "unix-abstract")


@dataclass(frozen=True, slots=True)
class TracingConfiguration:
    """The collector's endpoint (gRPC without TLS), and how many of a million requests without a parent are traced."""

    endpoint: str = DEFAULT_ENDPOINT
    sampled_per_million: int = 0


def read_tracing(path: Path) -> TracingConfiguration:
    """Reads and validates the file. Raises OSError, InvalidConfiguration."""
    found = read_configuration(path, "TracingConfiguration", VERSIONS, _SHAPE)
    rate, endpoint = found.get("samplingRatePerMillion", 0), found.get("endpoint", DEFAULT_ENDPOINT)
    if rate < 0:
        raise InvalidConfiguration(f"samplingRatePerMillion: Invalid value: {rate}: sampling rate must be positive")
    if rate > MILLION:
        raise InvalidConfiguration(
            f"samplingRatePerMillion: Invalid value: {rate}: sampling rate per million must be less than or equal to "
            "one million"
        )
    scheme = urlsplit(endpoint if "//" in endpoint else f"dns://{endpoint}").scheme
    if scheme not in _SCHEMES:
        raise InvalidConfiguration(
            f'endpoint: Invalid value: "{endpoint}": unsupported scheme: {scheme}.  Options are none, '
            f"{', '.join(_SCHEMES[:-1])}, or {_SCHEMES[-1]}.  See https://github.com/grpc/grpc/blob/master/doc/naming.md"
        )
    return TracingConfiguration(endpoint, rate)
