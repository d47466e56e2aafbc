"""Descriptions of types and fields from Kubernetes' API documentation, for `kubectl explain`.

The texts are not part of this project. They are read from the official Python client (package `kubernetes`, extra
"descriptions"), whose models were generated from Kubernetes' OpenAPI document. The source file of a type is read when
its description is needed; no module of the client is imported. Without the package there are no descriptions.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "kubernetes"

_STRING = r'"(?:[^"\\\n]|\\.)*"'
# from release 37 on, a model is a pydantic class with a docstring; before, each property has a docstring
_CLASS = re.compile(r'^class \w+\(BaseModel\):\n    """\n?(.*?)(?:\n\n +Attributes:|""")', re.M | re.S)
_FIELD = re.compile(rf"^    (\w+): .*?\bdescription=({_STRING})", re.M)
_PROPERTY = re.compile(r'"""Gets the (\w+) of this .*?\n\n *(.*?)\n\n *:return', re.S)
_NAMES = re.compile(r"^    attribute_map\b[^{=\n]*= \{(.*?)\}", re.M | re.S)
_NAME = re.compile(r"""["'](\w+)["']: ["']([^"'\n]+)["']""")
_BETWEEN_SENTENCES = re.compile(r"[.:!?)`] (?=[A-Z])")
_BETWEEN_PARAGRAPHS = re.compile(r"(?<=[.:!?)]) {2}(?=[A-Z])")
_LINT = "  # noqa: E501"


@dataclass(frozen=True, slots=True)
class Description:
    """The text of a type ("" if it has none), and the texts of its fields by JSON name."""

    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


_NOTHING = Description()


@cache
def description_of(type_name: str) -> Description:
    """The description of a type, by its definition name ("io.k8s.api.core.v1.Pod"); empty if there is none.

    The first call for a type reads a file, which takes about a millisecond.
    """
    *_, group, version_, kind = ["", "", *type_name.split(".")]
    files = _model_files()
    for name in (f"{group}{version_}{kind}", f"{version_}{kind}"):  # the group is in names that two groups have
        file = files.get(name.lower())
        if file is not None:
            return _read(file.read_text("utf-8"))
    return _NOTHING


@cache
def source() -> str:
    """The package and version that the descriptions come from; "" if it is not installed."""
    try:
        return f"{PACKAGE} {version(PACKAGE)}" if _model_files() else ""
    except PackageNotFoundError:
        return ""


@cache
def _model_files() -> dict[str, Path]:
    """The source files of the models, by module name without underscores."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return {}
    folder = Path(next(iter(spec.submodule_search_locations))) / "client" / "models"
    return {file.stem.replace("_", ""): file for file in folder.glob("*.py")}


def _read(content: str) -> Description:
    class_ = _CLASS.search(content)
    names = _NAMES.search(content)
    json_names = dict(_NAME.findall(names[1])) if names else {}
    texts = {name: str(literal_eval(text)) for name, text in _FIELD.findall(content)}
    if class_ is None:
        texts = {name: text.replace(_LINT, "").strip() for name, text in _PROPERTY.findall(content)}
    fields = {json_names.get(name, name): _in_paragraphs(text) for name, text in texts.items() if text}
    return Description(_joined(class_[1]) if class_ else "", fields)


def _in_paragraphs(text: str) -> str:
    """A field's text with its blank lines restored: the client's generator replaced each line end by a space.

    So two spaces between sentences mean a blank line, unless two spaces separate all sentences of the text.
    """
    return _BETWEEN_PARAGRAPHS.sub("\n\n", text) if "  " in text and _BETWEEN_SENTENCES.search(text) else text


def _joined(text: str) -> str:
    return " ".join(text.split())


def describe(type_name: str, field: str) -> str:
    """The description of a field, "" if there is none; `type_name` as in `description_of`."""
    return description_of(type_name).fields.get(field, "")
