"""Columns of events; both groups show the fields of core/v1, the form in which they are stored."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import Cell, Columns, column, name_of, part, since, wide
from gateway.text.unicode import GO_SPACE


def _event(obj: JsonObject) -> list[Cell]:
    involved, series = part(obj, "involvedObject"), obj.get("series")
    first = since(obj.get("firstTimestamp") or obj.get("eventTime"))
    last = since(obj["lastTimestamp"]) if obj.get("lastTimestamp") else first
    count = obj.get("count") or 1
    if series is not None:
        last, count = since(series.get("lastObservedTime")), series.get("count", 0)
    kind, name = involved.get("kind", "").lower(), involved.get("name")
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath", ""),
        _source(obj),
        obj.get("message", "").strip(GO_SPACE),
        first,
        count,
        name_of(obj),
    ]


def _source(obj: JsonObject) -> str:
    source = part(obj, "source")
    component: str = source.get("component") or obj.get("reportingComponent", "")
    instance = source.get("host") or obj.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


_EVENT = Columns(
    (
        column("Last Seen", "core.v1.Event.lastTimestamp"),
        column("Type", "core.v1.Event.type"),
        column("Reason", "core.v1.Event.reason"),
        column("Object", "core.v1.Event.involvedObject"),
        wide("Subobject", "core.v1.ObjectReference.fieldPath"),
        wide("Source", "core.v1.Event.source"),
        column("Message", "core.v1.Event.message"),
        wide("First Seen", "core.v1.Event.firstTimestamp"),
        wide("Count", "core.v1.Event.count"),
        wide("Name", format="name")._replace(field="apimachinery.pkg.apis.meta.v1.ObjectMeta.name"),
    ),
    _event,
    form="v1",
)
COLUMNS = {("", "Event"): _EVENT, ("events.k8s.io", "Event"): _EVENT}
