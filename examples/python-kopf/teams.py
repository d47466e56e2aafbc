"""An operator: each Team has a roster, a ConfigMap that lists its members."""

from __future__ import annotations

import time
from typing import Any

import kopf
from lightkube import ApiError, Client
from lightkube.resources.core_v1 import ConfigMap

LABEL = "example.org/team"


@kopf.on.login()
def login(**how: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**how)


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False  # no events
    settings.persistence.finalizer = "example.org/teams"
    settings.networking.error_backoffs = [0.2] * 10  # pauses before a request is made again; then kopf gives up


@kopf.on.resume("teams.example.org", backoff=0.5)
@kopf.on.create("teams.example.org", backoff=0.5)
@kopf.on.update("teams.example.org", field="spec", backoff=0.5)
def enroll(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    """Writes the roster; kopf calls it again after `backoff` seconds if that fails."""
    write_roster(body)
    patch.status["members"] = len(body["spec"]["members"])


@kopf.on.event("configmaps", labels={LABEL: kopf.PRESENT})
def restore(event: dict[str, Any], memo: kopf.Memo, indexed_teams: kopf.Index, **_: Any) -> None:
    """Writes a roster again that somebody has deleted, as long as its team is there."""
    if event["type"] == "DELETED":
        metadata = event["object"]["metadata"]
        for team in indexed_teams.get((metadata["namespace"], metadata["labels"][LABEL]), []):
            persist(team)


def persist(team: Any) -> None:
    """Tries for a while, for kopf does not repeat what fails at an event; not where the whole namespace goes."""
    for _ in range(10):
        try:
            return write_roster(team)
        except Exception as error:  # of the API, or no answer
            if isinstance(error, ApiError) and error.status.code in (403, 404):
                return None
            time.sleep(0.5)
    return None


@kopf.index("teams.example.org")
def indexed_teams(namespace: str, name: str, body: kopf.Body, **_: Any) -> dict[tuple[str, str], dict[str, Any]]:
    return {(namespace, name): {key: body[key] for key in ("apiVersion", "kind", "metadata", "spec")}}


def write_roster(team: Any) -> None:
    """Server-side apply: what is there already stays, whatever happened to an earlier attempt."""
    name = team["metadata"]["name"]
    roster = {
        "metadata": {"name": f"{name}-roster", "namespace": team["metadata"]["namespace"], "labels": {LABEL: name}},
        "data": {"members": "\n".join(sorted(team["spec"]["members"]))},
    }
    kopf.append_owner_reference(roster, owner=team)
    Client(field_manager="teams").apply(ConfigMap.from_dict(roster), force=True)
