"""Families as text: Prometheus' format 0.0.4, and OpenMetrics 1.0, which has exemplars too.

Labels are sorted by name, and children by their labels' values, as in Prometheus' Go client: so a comparison with
kube-apiserver's text by lines works.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from storage.instruments.snapshot import FamilySnapshot, Sample

TEXT = b"text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
OPEN_METRICS = b"application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"

_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_EXACT = 1 << 53  # above it, a float can't hold every integer
_WITH_EXPONENT = 1_000_000  # from here on, Go's shortest form of a float has an exponent
_HELP_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n"})


def exposition(snapshots: Sequence[FamilySnapshot], open_metrics: bool = False) -> bytes:
    """All families that have children, in UTF-8: in Prometheus' format, or with `open_metrics` in OpenMetrics."""
    lines: list[str] = []
    for each in snapshots:
        if each.samples:
            lines += _family(each, open_metrics)
    if open_metrics:
        lines.append("# EOF")
    return "\n".join(lines).encode() + b"\n"


def _family(family: FamilySnapshot, open_metrics: bool) -> Iterator[str]:
    name, kind = family.name, family.kind
    if open_metrics and kind == "counter":
        if name.endswith("_total"):  # in OpenMetrics the suffix is only in the sample's name
            name = name.removesuffix("_total")
        else:
            kind = "unknown"
    help_ = family.help if not family.level else f"[{family.level}] {family.help}"
    yield f"# HELP {name} {help_.translate(_ESCAPED if open_metrics else _HELP_ESCAPED)}"
    yield f"# TYPE {name} {kind}"
    order = sorted(range(len(family.labels)), key=family.labels.__getitem__)
    for sample in sorted(family.samples, key=lambda sample: [sample.labels[index] for index in order]):
        labels = ",".join(f'{family.labels[each]}="{sample.labels[each].translate(_ESCAPED)}"' for each in order)
        if family.kind == "histogram":
            yield from _histogram(family, sample, labels, open_metrics)
        else:
            braces = f"{{{labels}}}" if labels else ""
            yield f"{family.name}{braces} {_number(sample.value)}"


def _histogram(family: FamilySnapshot, sample: Sample, labels: str, open_metrics: bool) -> Iterator[str]:
    name, comma, seen = family.name, "," if labels else "", 0
    for index, (bound, count) in enumerate(zip((*map(_bound, family.bounds), "+Inf"), sample.counts, strict=True)):
        seen += count
        line = f'{name}_bucket{{{labels}{comma}le="{bound}"}} {seen}'
        if open_metrics and index in sample.exemplars:
            trace, value = sample.exemplars[index]
            line += f' # {{trace_id="{trace}"}} {_number(value)}'
        yield line
    braces = f"{{{labels}}}" if labels else ""
    yield f"{name}_sum{braces} {_number(sample.value)}"
    yield f"{name}_count{braces} {seen}"


def _number(value: float) -> str:
    """A value as text: an integer without a point; infinities and NaN as Go writes them."""
    if not isfinite(value):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < _EXACT else repr(float(value))


def _bound(bound: float) -> str:
    """A bucket's bound as the label "le" has it. Go writes 1e+06, not 1000000: queries and joins compare the text."""
    if not _WITH_EXPONENT <= bound < _EXACT:
        return _number(bound)
    digits = str(int(bound))
    rest = digits[1:].rstrip("0")
    return f"{digits[0]}{'.' if rest else ''}{rest}e+{len(digits) - 1:02}"
