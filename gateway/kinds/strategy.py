"""The strategy of a kind: what its creates and updates do beyond the generic rules.

As `rest.RESTCreateStrategy` and `rest.RESTUpdateStrategy`: a module in `gateway/kinds/strategies/` exports
`STRATEGIES`, a dict from subresource name ("" for the resource itself, "status", "scale", …) to `Strategy`. Objects
are decoded, defaulted dicts in the resource's *storage* version; functions change `obj` in place and never `old`.
Object metadata is prepared and validated generically before these run (see `gateway.writing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from gateway.jsontypes import JsonObject
from gateway.kinds.recurring import Templates
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError

if TYPE_CHECKING:
    from gateway.validation.declared import Declared

_R = TypeVar("_R")


def _nothing(obj: JsonObject, attributes: WriteContext) -> None:
    return None


def _nothing_on_update(obj: JsonObject, old: JsonObject, attributes: WriteContext) -> None:
    return None


def _valid(obj: JsonObject, attributes: WriteContext) -> list[FieldError]:
    return []


def _valid_update(obj: JsonObject, old: JsonObject, attributes: WriteContext) -> list[FieldError]:
    return []


def on_update(judge: Callable[[JsonObject, WriteContext], _R]) -> Callable[[JsonObject, JsonObject, WriteContext], _R]:
    """A rule of updates that looks at the new object alone, as one of creates does."""
    return lambda obj, old, attributes: judge(obj, attributes)


class Dependents(Enum):
    """The default propagation policy of a kind's deletes (DefaultGarbageCollectionPolicy)."""

    DELETE = "delete"
    ORPHAN = "orphan"
    NONE = "none"  # its deletions take no part in garbage collection at all


class Allocation(Enum):
    """What a kind allocates before it is written, and releases after its deletion."""

    SERVICE_ADDRESSES = "cluster IPs and node ports"


@dataclass(frozen=True, slots=True)
class Termination:
    """How an object ends that has to be emptied before it can go, as a namespace does.

    `begin` marks it, given the time; it goes when nobody holds it any more by `finalizers`, which are not those of its
    metadata.
    """

    begin: Callable[[JsonObject, str], None]
    finalizers: Callable[[JsonObject], Sequence[str]]
    propagates: bool = True  # whether the propagation that a delete asks for is noted when the end begins


def _deletable(name: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Strategy:
    """The rules of one resource or subresource."""

    prepare_for_create: Callable[[JsonObject, WriteContext], None] = _nothing
    prepare_for_update: Callable[[JsonObject, JsonObject, WriteContext], None] = _nothing_on_update
    validate: Callable[[JsonObject, WriteContext], list[FieldError]] = _valid
    validate_update: Callable[[JsonObject, JsonObject, WriteContext], list[FieldError]] = _valid_update
    # one by one, where there may be many: no more are asked for than the answer has room for
    warnings_on_create: Callable[[JsonObject, WriteContext], Iterable[str]] | None = None
    warnings_on_update: Callable[[JsonObject, JsonObject, WriteContext], Iterable[str]] | None = None
    canonicalize: Callable[[JsonObject], None] | None = None
    # (name, whether it is a generateName) -> messages; None: a DNS subdomain
    validate_name: Callable[[str, bool], Sequence[str]] | None = None
    allow_create_on_update: bool = False
    allow_create_on_apply: bool = False  # of a subresource: whether an apply to it creates what is missing
    allow_unconditional_update: bool = True
    reset_fields: tuple[tuple[str, ...], ...] = ()  # paths that this (sub)resource's writers never own: (("status",),)
    standard_finalizers: bool = True  # whether unqualified finalizers have to be among those that the system knows
    metadata_last: bool = False  # whether metadata is looked at only once there is nothing else wrong with a new object
    declared: tuple[Declared, ...] = ()  # rules that are checked after `validate` and `validate_update`
    tells_once: bool = False  # whether an error that is found twice is told once
    rechecks_metadata: bool = True  # whether the kind checks the metadata of updates once more, and reports it twice
    grants_rights: bool = False  # whether its writers have to have the rights that they grant
    hands_out_devices: bool = False  # whether its writers need rights to the devices that they ask for or hand out
    signs: bool = False  # whether who changes the status has to be allowed to sign for the object's signer
    governs: bool = False  # whether others' requests are decided by its objects: its writes are answered once they are
    reread: bool = False  # whether reading from storage changes objects: a write answers what is read back
    weight: int = 1  # how much longer its rules take for a byte than those of other kinds

    # creation
    expires: bool = False  # whether objects go by themselves, --event-ttl after their last write
    allocation: Allocation | None = None
    templates: Templates | None = None  # of a kind of which many objects have the same specification
    in_its_own_namespace: bool = False  # whether requests for an object are in the namespace of its name

    refuse_creation: str = ""  # the reason why objects cannot be created, "" where they can

    # deletion; only the resource's own strategy is asked
    refuse_deletion: Callable[[str], str] = _deletable  # name -> the reason why it cannot be deleted, "" where it can
    # (object, seconds that the client asks for or None) -> seconds until it goes; None: objects go at once
    grace_period: Callable[[JsonObject, int | None], int] | None = None
    dependents: Dependents = Dependents.DELETE
    warning_on_default_dependents: str = ""  # for a delete that leaves it to `dependents`
    termination: Termination | None = None
    returns_deleted: bool = False  # whether a delete answers the object that is gone, and not a Status
