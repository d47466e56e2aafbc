"""The APIService objects of the built-in groups, with their priorities in discovery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gateway.aggregation.priorities import PRIORITIES
from gateway.controllers.bootstrap_objects import BootstrapObject


def api_services(served: Mapping[str, Sequence[str]]) -> Iterator[BootstrapObject]:
    """The APIServices of the groups and versions that are served here."""
    labels = {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    for group, (priority, versions) in PRIORITIES.items():
        for version, preference in versions.items():
            if version not in served.get(group, ()):
                continue
            spec = {"group": group} if group else {}
            content = {
                "metadata": {"name": f"{version}.{group}", "labels": labels},
                "spec": {
                    **spec,
                    "version": version,
                    "groupPriorityMinimum": priority,
                    "versionPriority": preference,
                },
            }
            yield BootstrapObject("apiregistration.k8s.io", "v1", "apiservices", content)
