"""Columns of config maps, secrets, service accounts and quotas."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import AGE, NAME, Cell, Columns, age, column, name_of, part


def _config_map(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj)]


def _secret(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj)]


def name_and_age(obj: JsonObject) -> list[Cell]:
    """The cells of kinds that show only name and age."""
    return [name_of(obj), age(obj)]


def _with_secrets(account: JsonObject) -> list[Cell]:
    return [name_of(account), len(account.get("secrets") or ()), age(account)]


def _resource_quota(obj: JsonObject) -> list[Cell]:
    status = part(obj, "status")
    hard, used = status.get("hard") or {}, status.get("used") or {}
    requests, limits = list[str](), list[str]()
    for resource in sorted(hard):
        (limits if resource.startswith("limits.") else requests).append(
            f"{resource}: {used.get(resource, '0')}/{hard[resource]}"
        )
    return [name_of(obj), ", ".join(requests), ", ".join(limits), age(obj)]


COLUMNS = {
    ("", "ConfigMap"): Columns((NAME, column("Data", "core.v1.ConfigMap.data"), AGE), _config_map),
    ("", "Secret"): Columns(
        (NAME, column("Type", "core.v1.Secret.type"), column("Data", "core.v1.Secret.data"), AGE), _secret
    ),
    ("", "ServiceAccount"): Columns((NAME, AGE), name_and_age),
    ("", "ResourceQuota"): Columns((NAME, column("Request"), column("Limit"), AGE), _resource_quota),
}

BEFORE = {
    ("", "ServiceAccount"): (
        "ServiceAccountColumnsWithoutSecrets",
        Columns((NAME, column("Secrets", "core.v1.ServiceAccount.secrets"), AGE), _with_secrets),
    )
}
"""By kind: the name of a change (gateway.release.changes), and the columns before it."""
