"""The drivers that a write of device statuses concerns."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.access.device_rights import _changed_drivers

ONE, OTHER = ({"driver": driver, "pool": "p", "device": "d"} for driver in ("one", "other"))


@pytest.mark.parametrize(
    ("devices", "before", "changed"),
    [
        ([], [], set()),
        ([ONE, OTHER], [OTHER, ONE], set()),
        ([ONE, OTHER], [ONE], {"other"}),
        ([ONE], [ONE, OTHER], {"other"}),
        ([ONE | {"data": {}}, OTHER], [ONE, OTHER], {"one"}),
        ([ONE | {"device": "e"}], [ONE], {"one"}),
        ([ONE], [OTHER], {"one", "other"}),
    ],
)
def test_a_status_added_removed_or_changed_concerns_its_driver(devices: Any, before: Any, changed: set[str]) -> None:
    assert _changed_drivers(devices, before) == changed
