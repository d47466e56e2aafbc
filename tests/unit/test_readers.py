"""Input from outside is read in one place for each format: by a bounded reader that gives valid Unicode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.unit.sources import modules, tree_of, with_word

YAML = {"gateway.schema.yaml_body"}

# of JSON: the readers themselves, and those of what this program has written or was installed with
JSON = {
    "gateway.audit.objects": "answers of this server",
    "gateway.cel.declarations": "a file of the package",
    "gateway.cel.syntax_errors": "a file of the package",
    "gateway.credentials.identity": "sealed by a replica",
    "gateway.credentials.identity_exchange": "from the parent process",
    "gateway.launch.template": "from the parent process",
    "gateway.observability.siblings": "from a process of the same server",
    "gateway.schema.body": "the reader of bodies",
    "gateway.schema.go_json": "one string, whose syntax it has checked",
    "gateway.schema.outside": "the reader of all else",
    "gateway.transfer.documents": "files of who runs the command",
    "gateway.transfer.kubeconfig": "a program of who runs the command",
    "gateway.trials.replay": "of tests",
    "gateway.trials.story": "of tests",
    "gateway.trials.testing_api": "of tests",
    "storage.backups.file": "a backup",
    "storage.backups.marker": "written by this program",
    "storage.compaction_key": "written by an API server",
    "storage.continuation": "the reader of continue tokens",
    "storage.embedded.words": "etcd's log",
    "storage.entry": "written by this program, or made canonical",
}

OUTSIDE = (
    "gateway.access",
    "gateway.admission.webhooks",
    "gateway.aggregation",
    "gateway.forwarding",
    "gateway.outbound",
    "gateway.proxies",
    "gateway.transfer",
    "gateway.webhooks",
)
"""Folders that talk to other servers. They do not use `loads`, which is for values that this server has written."""
OWN = {
    "gateway.access.rbac.default_policy": "a file of the package",
    "gateway.admission.webhooks.patch": "what it has written in the line before",
    "gateway.aggregation.service_changes": "a stored object",
}

_PARSING = {"load", "loads", "JSONDecoder"}
_YAML_PARSING = {"load", "load_all", "safe_load", "safe_load_all", "full_load", "unsafe_load", "compose", "compose_all"}
_YAML_PARSING |= {"parse", "scan", "SafeLoader", "CSafeLoader", "Loader", "CLoader", "BaseLoader", "CParser"}


def used(name: str) -> Iterator[str]:
    """The attributes of `json`, `orjson` and `yaml` that a module uses, and its imports from them."""
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def of_server() -> Iterator[str]:
    return (name for name in modules() if name.split(".")[0] in ("gateway", "storage"))


def test_yaml_is_read_by_one_module() -> None:
    parsing = {f"yaml.{each}" for each in _YAML_PARSING}
    assert {name for name in of_server() if parsing & set(used(name))} - {"gateway.encodings.yaml"} <= YAML
    assert "yaml.load" not in set(used("gateway.encodings.yaml")), "which writes it"


def test_json_from_outside_is_read_by_its_readers() -> None:
    parsing = {f"{module}.{each}" for module in ("json", "orjson") for each in _PARSING}
    found = {name for name in of_server() if parsing & set(used(name))} - {"gateway.jsontypes"}
    assert found - JSON.keys() == set(), "let gateway/schema/outside.py read it"
    assert JSON.keys() - found == set(), "these read no JSON any more"


def test_who_talks_to_others_does_not_read_their_words_by_what_is_for_ours() -> None:
    found = {
        name
        for name in of_server()
        if any(name == room or name.startswith(f"{room}.") for room in OUTSIDE)
        if "gateway.jsontypes.loads" in set(used(name))
    }
    assert found == OWN.keys()


# who reads a body for `decode`, which refuses a number that no float64 can hold; and that it decodes what it has read
DECODED = {
    "gateway.admission.webhooks.answer": "decode(",
    "gateway.writing.body": "decode(self.type, value",
    "gateway.writing.options_body": "decode(type_of(_TYPE)",
}


def test_numbers_beyond_floats_are_refused_by_the_reader_or_by_decode() -> None:
    """`parse_to_decode` returns them as infinity: its result may only be passed to decode."""
    word = "parse_to_decode"
    calls = {name for name in with_word(word) if word in ast.unparse(tree_of(name)) and ".schema." not in name}
    assert calls == DECODED.keys(), "call parse_body"
    for name, decoded in DECODED.items():
        assert decoded in ast.unparse(tree_of(name))
