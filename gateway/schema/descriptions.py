"""What Kubernetes' API documentation says of types and fields, for `kubectl explain`.

The texts are not part of this project: they are read out of the official Python client (the package `kubernetes`, the
extra "descriptions"), whose models were generated from Kubernetes' OpenAPI document. Its source files are read one by
one when a type is described; nothing of it is imported. Without the package there are no descriptions.
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
# from release 37 on, models are classes of pydantic with a docstring; before, properties have one each
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
    """The text of a type and those of its fields, by JSON name; "" and absent where there is none."""

    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


_NOTHING = Description()


@cache
def description_of(type_name: str) -> Description:
    """What is known of a type by its definition name ("io.k8s.api.core.v1.Pod"). Takes about a millisecond once."""
    *_, group, version_, kind = ["", "", *type_name.split(".")]
    files = _model_files()
    for name in (f"{group}{version_}{kind}", f"{version_}{kind}"):  # names that two groups have are told apart
        file = files.get(name.lower())
        if file is not None:
            return _read(file.read_text("utf-8"))
    return _NOTHING


@cache
def source() -> str:
    """Which texts there are: changes when they do, "" when there are none."""
    try:
        return f"{PACKAGE} {version(PACKAGE)}" if _model_files() else ""
    except PackageNotFoundError:
        return ""


@cache
def _model_files() -> dict[str, Path]:
    """The files of the models, by their names without underscores."""
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
    """A field's text with blank lines where it had them: the client's generator made a space of each line's end.

    So two spaces between sentences are a blank line, unless all sentences of the text stand so apart.
    """
    return _BETWEEN_PARAGRAPHS.sub("\n\n", text) if "  " in text and _BETWEEN_SENTENCES.search(text) else text


def _joined(text: str) -> str:
    return " ".join(text.split())


def describe(type_name: str, field: str) -> str:
    """What is said of a type's field, "" where nothing is known."""
    return description_of(type_name).fields.get(field, "")
