"""Makes the authorizers of --authorization-mode or --authorization-config."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gateway.access.authorization import AlwaysAllow, AlwaysDeny, Authorizer, Masters
from gateway.access.file_reload import Followed
from gateway.access.rbac.authorizer import RBAC
from gateway.access.rbac.default_policy import default_policy
from gateway.access.rbac.policy import RbacPolicy
from gateway.access.rbac.rules import compile_rules
from gateway.settings.config import Settings
from gateway.settings.release import chosen_release

if TYPE_CHECKING:
    from gateway.access.authorization_configuration import AuthorizerSettings
    from gateway.access.authorization_webhook import WebhookAuthorizer, WebhookSettings
    from gateway.access.nodes.graph import NodeGraph
    from gateway.cel.program import Program
    from gateway.release.gates import Enabled

_NODE_ROLE = "system:node"
_DEFAULT_WEBHOOK = "default"  # the name of the webhook of the flags


class Authorization:
    """The authorizers of one server; `chain` asks them."""

    def __init__(self, settings: Settings, policy: RbacPolicy, node_graph: Callable[[], NodeGraph]) -> None:
        """`node_graph` makes the graph of the Node authorizer; it is called only if that mode is configured.

        Raises OSError and ValueError for files that cannot be used.
        """
        self._settings, self._policy, self._node_graph = settings, policy, node_graph
        self._made: dict[str, Authorizer] = {}
        self._webhooks: dict[AuthorizerSettings, WebhookAuthorizer] = {}
        self._release = chosen_release(settings)
        self._enabled = self._release.gates.enabled
        self._names = self._enabled("AuthorizersNamedInReasons")
        self.chain = Masters(())
        self.reload()

    def reload(self) -> None:
        """Sets the authorizers of the configuration file; without one, of the flags. Raises OSError, ValueError."""
        path = self._settings.authorization_config
        if path is None:
            modes = self._settings.modes
            names = [_DEFAULT_WEBHOOK if mode == "Webhook" else mode.lower() for mode in modes]
            self.chain.replace([self._of_mode(mode) for mode in modes], modes, names if self._names else ())
            return
        from gateway.access.authorization_configuration import read_authorizers

        wanted = read_authorizers(path, self._enabled)
        if self.chain.modes:
            for each in wanted:
                if each.mode in ("Node", "RBAC") and each.mode not in self._made:
                    text = f"authorizer type {each.mode} is not allowed if it was not enabled at initial server startup"
                    raise ValueError(text)
        webhooks = {
            each: self._webhooks.get(each) or webhook(each.webhook, self._enabled) for each in wanted if each.webhook
        }
        self._webhooks = webhooks
        found = [webhooks[each] if each.webhook else self._of_mode(each.mode) for each in wanted]
        names = [each.name for each in wanted] if self._names else []
        self.chain.replace(found, [each.mode for each in wanted], names)

    def followed(self) -> list[Followed]:
        """The files to reload when they change."""
        path = self._settings.authorization_config
        return [] if path is None else [Followed("--authorization-config", (path,), self.reload)]

    def _of_mode(self, mode: str) -> Authorizer:
        if mode not in self._made:
            self._made[mode] = self._makers()[mode]()
        return self._made[mode]

    def _makers(self) -> dict[str, Callable[[], Authorizer]]:
        return {
            "AlwaysAllow": AlwaysAllow,
            "AlwaysDeny": AlwaysDeny,
            "RBAC": lambda: RBAC(self._policy),
            "Node": self._node,
            "Webhook": lambda: webhook(webhook_settings(self._settings), self._enabled),
        }

    def _node(self) -> Authorizer:
        from gateway.access.nodes.authorizer import NodeAuthorizer

        roles = default_policy(self._release.minor, self._release.binary)
        rules = next(role["rules"] for role in roles["clusterroles"] if role["metadata"]["name"] == _NODE_ROLE)
        return NodeAuthorizer(self._node_graph(), compile_rules(rules), self._enabled)


def webhook_settings(settings: Settings) -> WebhookSettings:
    """The settings of the webhook of --authorization-webhook-config-file."""
    from gateway.access.authorization_webhook import WebhookSettings
    from gateway.access.remote import TIMEOUT

    assert settings.authorization_webhook_config_file is not None
    return WebhookSettings(
        settings.authorization_webhook_config_file,
        settings.authorization_webhook_version,
        TIMEOUT,
        settings.authorization_webhook_cache_authorized_ttl,
        settings.authorization_webhook_cache_unauthorized_ttl,
    )


def webhook(settings: WebhookSettings, enabled: Enabled) -> WebhookAuthorizer:
    """The authorizer that asks a webhook; `enabled` selects the edition of CEL. Raises OSError, ValueError."""
    from gateway.access.authorization_webhook import WebhookAuthorizer
    from gateway.access.remote import Remote, read_place

    conditions: Sequence[Program] = ()
    if settings.conditions:
        from gateway.access.authorization_conditions import compiled_condition

        conditions = [compiled_condition(text, enabled) for text in settings.conditions]
    return WebhookAuthorizer(Remote(read_place(settings.kubeconfig), settings.timeout), settings, conditions)
