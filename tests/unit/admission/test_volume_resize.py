"""PersistentVolumeClaimResize: only a bound claim of a class that allows it may grow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.admission.plugins import volume_resize
from gateway.admission.plugins.volume_resize import _validate
from gateway.jsontypes import JsonObject


def claim(size: str, phase: str = "Bound", name: str = "c") -> JsonObject:
    spec = {"storageClassName": name, "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": "p"}, "spec": spec, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("new", "old", "allows", "refused"),
    [
        (claim("2Gi"), claim("1Gi"), True, False),
        (claim("2Gi"), claim("1Gi"), False, True),
        (claim("2Gi"), claim("1Gi", "Pending"), True, True),
        (claim("2Gi"), claim("1Gi", name="d"), True, True),
        (claim("1Gi"), claim("2Gi"), False, False),
        (claim("1Gi"), claim("1Gi", "Pending"), False, False),
        (claim("1Gi"), None, False, False),
    ],
)
async def test_who_may_grow(
    monkeypatch: pytest.MonkeyPatch, new: JsonObject, old: JsonObject | None, allows: bool, refused: bool
) -> None:
    async def get(*_: object) -> JsonObject:
        return {"allowVolumeExpansion": allows}

    monkeypatch.setattr(volume_resize, "refused", lambda admission, obj, words: ValueError(words))
    asked = cast(Any, SimpleNamespace(obj=new, old=old)), cast(Any, SimpleNamespace(get=get))
    if refused:
        with pytest.raises(ValueError, match=r"can be (expanded|resized)"):
            await _validate(*asked)
    else:
        await _validate(*asked)
