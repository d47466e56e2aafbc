"""The path of the pod template in workloads."""

from __future__ import annotations

from gateway.jsontypes import JsonObject

TEMPLATES: dict[tuple[str, str], tuple[str, ...]] = {  # group and resource -> path
    ("", "replicationcontrollers"): ("spec", "template"),
    ("", "podtemplates"): ("template",),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}


def template_of(group: str, resource: str, obj: JsonObject) -> JsonObject | None:
    """The pod template of an object; None if it has none. Raises KeyError for a resource without pod templates."""
    return at(obj, TEMPLATES[group, resource])


def at(obj: JsonObject, path: tuple[str, ...]) -> JsonObject | None:
    """The object at a path; None if there is none."""
    found: JsonObject | None = obj
    for member in path:
        found = (found or {}).get(member)
    return found
