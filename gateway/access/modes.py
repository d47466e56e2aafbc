"""The authorizers that --authorization-mode names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.access.authorization import AlwaysAllow, AlwaysDeny, Authorizer, Masters
from gateway.access.rbac.authorizer import RBAC
from gateway.access.rbac.policy import Policy
from gateway.config import Settings

_MODES: Mapping[str, Callable[[Settings, Policy], Authorizer]] = {
    "AlwaysAllow": lambda settings, policy: AlwaysAllow(),
    "AlwaysDeny": lambda settings, policy: AlwaysDeny(),
    "RBAC": lambda settings, policy: RBAC(policy),
}


def authorizer_of(settings: Settings, policy: Policy) -> Authorizer:
    """The chain of the modes, in their order, behind the one that lets system:masters do everything."""
    return Masters([_MODES[mode](settings, policy) for mode in settings.authorization_mode])
