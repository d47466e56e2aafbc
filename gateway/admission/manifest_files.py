"""Puts the webhooks and policies from files in force, and says which directories to follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from gateway.access.file_reload import Followed
from gateway.admission.manifests import Manifests, ManifestWatcher
from gateway.admission.policies.configuration import Bindings
from gateway.admission.policies.policies import Policies
from gateway.admission.webhooks.configuration import Hooks
from gateway.admission.webhooks.files import Configured
from gateway.admission.webhooks.sorts import AdmissionWebhooks


def manifests_of(
    configured: Mapping[str, object], hooks: AdmissionWebhooks, policies: Policies, server: str
) -> Iterator[Followed]:
    """Puts the manifests of all plug-ins in force, and yields their directories to follow.

    `configured` is what `Plugin.configure` returned, by plug-in; `server` is the server's name, which metrics hash.
    """
    for sort, webhooks in (("Mutating", hooks.mutating), ("Validating", hooks.validating)):
        found = configured.get(f"{sort}AdmissionWebhook")
        if isinstance(found, Configured) and found.manifests is not None:
            use = partial(_guard_by_webhooks, webhooks, f"{sort}WebhookConfiguration")
            yield ManifestWatcher(found.manifests, server, use).followed()
    for kind, bound in (("Mutating", policies.mutating), ("Validating", policies.validating)):
        manifests = configured.get(f"{kind}AdmissionPolicy")
        if isinstance(manifests, Manifests):
            yield ManifestWatcher(
                manifests, server, partial(_guard_by_policies, bound, f"{kind}AdmissionPolicy")
            ).followed()


def _guard_by_webhooks(hooks: Hooks, kind: str, manifests: Manifests) -> None:
    hooks.guard(manifests.of(kind))


def _guard_by_policies(bindings: Bindings[Any], kind: str, manifests: Manifests) -> None:
    bindings.guard(manifests.of(kind), manifests.of(f"{kind}Binding"))
