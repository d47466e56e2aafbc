"""Imports FastAPI without building its models of OpenAPI documents, which are not used here.

To build them takes a third of the import time. Pydantic can defer this until a model is first used (`defer_build`):
this module sets that for all models that are imported with FastAPI.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def _models_put_off() -> Iterator[None]:
    """Defers building the pydantic models that the block defines until their first use."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else each model searches all packages for plug-ins
    from pydantic import BaseModel

    rebuild = BaseModel.__dict__["model_rebuild"]

    def put_off(cls: type[BaseModel], /, **how: Any) -> bool | None:
        return rebuild.__func__(cls, **how) if how else None  # the first use of a model passes arguments

    BaseModel.model_config["defer_build"] = True
    BaseModel.model_rebuild = classmethod(put_off)  # type: ignore[assignment,method-assign]  # for the block alone
    try:
        yield
    finally:
        BaseModel.model_rebuild = rebuild  # type: ignore[method-assign]  # what it was
        del BaseModel.model_config["defer_build"]


with _models_put_off():
    from fastapi import APIRouter, FastAPI, Request, Response

__all__ = ["ANY_METHOD", "APIRouter", "FastAPI", "Request", "Response"]

ANY_METHOD: list[str] = []
"""For a route that answers all methods, also unknown ones."""
