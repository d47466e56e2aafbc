"""The strategy of a kind: the rules of its creates, updates and deletes beyond the generic ones.

It corresponds to `rest.RESTCreateStrategy` and `rest.RESTUpdateStrategy`. A module in `gateway/kinds/strategies/`
exports `STRATEGIES`, a dict from subresource name ("" for the resource itself, "status", "scale", …) to `Strategy`.
Objects are decoded, defaulted dicts in the resource's *storage* version; functions change `obj` in place and never
`old`. Object metadata is prepared and validated generically before these run (see `gateway.writing`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from gateway.jsontypes import JsonObject
from gateway.kinds.spec_templates import SpecTemplates
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError

if TYPE_CHECKING:
    from gateway.validation.declared_rules import Declaration

_R = TypeVar("_R")


def _nothing(obj: JsonObject, context: WriteContext) -> None:
    return None


def _nothing_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    return None


def _valid(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return []


def _valid_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return []


def on_update(judge: Callable[[JsonObject, WriteContext], _R]) -> Callable[[JsonObject, JsonObject, WriteContext], _R]:
    """Turns a rule for creates into one for updates, which looks at the new object only."""
    return lambda obj, old, context: judge(obj, context)


class Dependents(Enum):
    """The default propagation policy of a kind's deletes (DefaultGarbageCollectionPolicy)."""

    DELETE = "delete"
    ORPHAN = "orphan"
    NONE = "none"  # its deletes take no part in garbage collection


class Allocation(Enum):
    """The things that a kind allocates before a write, and releases after a deletion."""

    SERVICE_ADDRESSES = "cluster IPs and node ports"


@dataclass(frozen=True, slots=True)
class Termination:
    """How an object is deleted that must be emptied first, as a namespace.

    `begin` marks the object, given the time. The object is removed once `finalizers` are empty; these are not the
    finalizers in its metadata.
    """

    begin: Callable[[JsonObject, str], None]
    finalizers: Callable[[JsonObject], Sequence[str]]
    propagates: bool = True  # whether `begin` also records the propagation policy of the delete


def _deletable(name: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Strategy:
    """The rules of one resource or subresource."""

    prepare_for_create: Callable[[JsonObject, WriteContext], None] = _nothing
    prepare_for_update: Callable[[JsonObject, JsonObject, WriteContext], None] = _nothing_on_update
    validate: Callable[[JsonObject, WriteContext], list[FieldError]] = _valid
    validate_update: Callable[[JsonObject, JsonObject, WriteContext], list[FieldError]] = _valid_update
    # an iterable, since there may be many: only as many are computed as fit into the answer
    warnings_on_create: Callable[[JsonObject, WriteContext], Iterable[str]] | None = None
    warnings_on_update: Callable[[JsonObject, JsonObject, WriteContext], Iterable[str]] | None = None
    canonicalize: Callable[[JsonObject], None] | None = None
    # (name, whether it is a generateName) -> messages; None: a DNS subdomain
    validate_name: Callable[[str, bool], Sequence[str]] | None = None
    generate_name: Callable[[str], str] | None = None  # generateName -> name; None: five random letters follow it
    allow_create_on_update: bool = False
    allow_create_on_apply: bool = False  # of a subresource: whether an apply to it creates a missing object
    allow_unconditional_update: bool = True
    reset_fields: tuple[tuple[str, ...], ...] = ()  # paths that a field manager cannot own here: (("status",),)
    standard_finalizers: bool = True  # whether a finalizer without a domain must be one of Kubernetes' own
    metadata_last: bool = False  # whether a new object's metadata is validated only if there are no other errors
    declared: Declaration | tuple[()] = ()  # rules that are checked after `validate` and `validate_update`
    tells_once: bool = False  # whether an error that is found twice is reported once
    rechecks_metadata: bool = True  # whether an update's metadata is validated twice, and its errors are reported twice
    grants_rights: bool = False  # whether a user can grant only the rights that the user has (RBAC escalation)
    hands_out_devices: bool = False  # whether a user needs rights to the devices that the object requests or allocates
    signs: bool = False  # whether a change of the status needs the verb "sign" on the object's signer
    governs: bool = False  # whether its objects decide on other requests: its writes are answered once they take effect
    reread: bool = False  # whether decoding from storage changes objects: the answer of a write is the decoded object
    # (stored object, its version before) -> None, after an update is stored: for metrics
    on_updated: Callable[[JsonObject, JsonObject], None] | None = None
    weight: int = 1  # time that its rules take for a byte, relative to other kinds

    # creation
    expires: bool = False  # whether objects expire --event-ttl after their last write
    allocation: Allocation | None = None
    # for a kind of which many objects have the same spec: sets the defaults of all but the spec, in place
    default_others: Callable[[JsonObject], None] | None = None
    templates: SpecTemplates | None = field(init=False, compare=False)  # the specs that recur; of this strategy alone
    in_its_own_namespace: bool = False  # whether the namespace of a request is the object's name (Namespace)

    refuse_creation: str = ""  # why objects cannot be created; "" if they can

    # deletion; only the resource's own strategy is asked
    refuse_deletion: Callable[[str], str] = _deletable  # name -> why it cannot be deleted; "" if it can
    # (object, the client's gracePeriodSeconds or None) -> seconds until deletion; None: objects are deleted at once
    grace_period: Callable[[JsonObject, int | None], int] | None = None
    dependents: Dependents = Dependents.DELETE
    warning_on_default_dependents: str = ""  # for a delete without a propagation policy
    termination: Termination | None = None
    returns_deleted: bool = False  # whether a delete answers with the deleted object, and not with a Status

    def __post_init__(self) -> None:
        templates = None if self.default_others is None else SpecTemplates(self.default_others)
        object.__setattr__(self, "templates", templates)

    def default_beside(self, members: Container[str]) -> Callable[[JsonObject], None] | None:
        """What sets the defaults of an object whose `members` have theirs; None: those of the kind do."""
        return None if self.templates is None else self.templates.default_beside(members)
