"""FastAPI, imported without what nobody needs here: its models of OpenAPI documents, built.

They are a third of what it costs to import it. Pydantic can put off building a model until it is first used
(`defer_build`), which is asked for here on behalf of whatever is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def _models_put_off() -> Iterator[None]:
    """Puts off the building of pydantic models: what the block defines is built on its first use, not when imported."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # each model asks all installed packages for some
    from pydantic import BaseModel

    rebuild = BaseModel.__dict__["model_rebuild"]

    def put_off(cls: type[BaseModel], /, **how: Any) -> bool | None:
        return rebuild.__func__(cls, **how) if how else None  # a model's first use says how

    BaseModel.model_config["defer_build"] = True
    BaseModel.model_rebuild = classmethod(put_off)  # type: ignore[assignment,method-assign]  # for the block alone
    try:
        yield
    finally:
        BaseModel.model_rebuild = rebuild  # type: ignore[method-assign]  # what it was
        del BaseModel.model_config["defer_build"]


with _models_put_off():
    from fastapi import APIRouter, FastAPI, Request, Response

__all__ = ["APIRouter", "FastAPI", "Request", "Response"]
