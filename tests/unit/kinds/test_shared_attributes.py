"""Values that many objects share are in memory once."""

from __future__ import annotations

from typing import Any

from gateway.kinds import shared_attributes as alike
from gateway.kinds.builtin import builtin_registry
from storage.entry import LabelsAndFields


def attributes(name: str, labels: dict[str, str], node: str = "n1") -> LabelsAndFields:
    found = builtin_registry().preferred("", "pods")
    assert found is not None
    pod: dict[str, Any] = {"metadata": {"name": name, "namespace": "n", "labels": labels}, "spec": {"nodeName": node}}
    return found.model.labels_and_fields_of(pod)


def test_objects_of_one_template_share_what_selectors_look_at() -> None:
    one, two = attributes("one", {"app": "web"}), attributes("two", {"app": "web"})
    assert one.labels is two.labels
    assert one.fields._others is two.fields._others  # type: ignore[attr-defined]
    names = [(each.fields.get("metadata.name", ""), each.fields.get("spec.nodeName", "")) for each in (one, two)]
    assert names == [("one", "n1"), ("two", "n1")]


def test_what_differs_is_told_apart() -> None:
    one, two = attributes("a", {"app": "web"}, "n1"), attributes("a", {"app": "db"}, "n2")
    assert (one.labels["app"], two.labels["app"]) == ("web", "db")
    assert (one.fields.get("spec.nodeName", ""), two.fields.get("spec.nodeName", "")) == ("n1", "n2")
    assert one.fields.get("spec.unknown", "absent") == "absent"


def test_what_does_not_come_again_does_not_pile_up() -> None:
    for number in range(alike.MOST + 1):
        alike.alike({"number": str(number)})
    assert len(alike._known) <= alike.MOST
    many = {str(number): "" for number in range(alike.LONGEST + 1)}
    assert alike.alike(many) is many and alike.alike(dict(many)) is not many


def test_long_texts_are_not_held_on_to() -> None:
    fields = {"spec.text": "x" * (alike.LENGTH + 1)}
    assert alike.alike(fields) is fields
    assert alike.alike(dict(fields)) is not fields
