"""Media types in which objects are answered: one module each, in the order in which an unspecific client gets them."""

from __future__ import annotations

from gateway.http.formats import json, yaml
from gateway.http.formats.format import Format

FORMATS: tuple[Format, ...] = (json.FORMAT, yaml.FORMAT)
