"""The forms of /statusz and /flagz: text for people, or a document of config.k8s.io (KEP-4827, KEP-4828)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gateway.encodings import pretty_json, yaml
from gateway.http.exchange import TEXT_TYPE
from gateway.http.negotiation import names, not_acceptable, parse_accept
from gateway.jsontypes import dumps, loads

_GROUP = "config.k8s.io"
_VERSIONS = ("v1beta1", "v1alpha1")  # the newest first
_JSON, _YAML, _TEXT, _CBOR = "application/json", "application/yaml", "text/plain", "application/cbor"
_TYPES = (_JSON, _YAML, _TEXT)  # in the order in which kube-apiserver names them


class PageForm(NamedTuple):
    """How a page is answered: as text, or as a document of a version of config.k8s.io."""

    kind: str
    media_type: str = _TEXT
    version: str = ""
    pretty: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the answer is the text for people."""
        return self.media_type == _TEXT

    def headers(self) -> dict[str, str]:
        """The content type, and the warning about an old version."""
        if self.is_text:
            return {"content-type": TEXT_TYPE.decode()}
        found = {"content-type": f"{self.media_type};g={_GROUP};v={self.version};as={self.kind}"}
        if self.version != _VERSIONS[0]:
            page = self.kind.lower()
            found["warning"] = f'299 - "This version of the {page} endpoint is deprecated. Please use a newer version."'
        return found

    def encode(self, members: Mapping[str, Any]) -> bytes:
        """A document with these members."""
        head = {"kind": self.kind, "apiVersion": f"{_GROUP}/{self.version}", "metadata": {"name": "apiserver"}}
        document = dumps({**head, **members})
        if self.media_type == _YAML:
            return yaml.to_yaml(document)
        if self.media_type == _CBOR:
            from gateway.encodings import cbor

            return cbor.answer(cbor.content(loads(document), None))
        return pretty_json.indent(document) if self.pretty else document + b"\n"


def page_form(accept: str, kind: str, human: bool, in_cbor: bool = False) -> PageForm:
    """The form that an Accept header's value asks for; the text without one. Raises StatusError 406.

    The best clause counts that asks for the plain text, or for the page's kind in a served version in JSON or YAML.
    `human`: the client gets indented JSON. `in_cbor`: CBOR is possible, too.
    """
    types = (*_TYPES, _CBOR) if in_cbor else _TYPES
    if not accept:
        return PageForm(kind)
    for clause in parse_accept(accept):
        params = clause.params
        if params.get("sv") or params.get("stream"):
            continue
        wanted = (params.get("g"), params.get("as"))
        for media_type in types:
            if not names(clause, media_type):
                continue
            if media_type == _TEXT and wanted == (None, None) and "v" not in params:
                return PageForm(kind)
            if media_type != _TEXT and wanted == (_GROUP, kind) and params.get("v") in _VERSIONS:
                return PageForm(kind, media_type, params["v"], human or params.get("pretty") == "1")
    raise not_acceptable(types)
