"""What the watch cache has to know of a resource."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storage.entry import LabelsAndFieldsOf

Canonicalise = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """What the cache has to know of a resource. `head` is `{"kind":…,"apiVersion":…,` of its storage version.

    `other_heads` are the heads of other versions in which canonical values may be stored.
    """

    prefix: bytes  # "/registry/pods/"
    head: bytes
    canonicalise: Canonicalise  # a foreign writer's value -> a canonical, defaulted one; may raise any Exception
    labels_and_fields_of: LabelsAndFieldsOf
    other_heads: tuple[bytes, ...] = ()
    group_resource: tuple[str, str] = ("", "")  # for metrics
    trusts_marks: bool = True  # whether a value that ends in MARK is canonical; False where a CRD may change the form
    outdated: Callable[[bytes], bool] | None = None  # finds canonical values that `canonicalise` changes all the same
    awaited: bool = False  # whether a write returns only once the cache has it, because it affects the next requests
