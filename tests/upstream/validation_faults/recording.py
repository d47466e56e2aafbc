"""Reads and writes the file of recorded cases and answers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from .asking import Base, Case


def write(file: Path, version: str, cases: list[Case]) -> None:
    """Writes cases. `version` is that of the recorded server."""
    used = list({id(case.base): case.base for case in cases}.values())
    places = {id(base): number for number, base in enumerate(used)}
    document = {
        "version": version,
        "bases": [{"resource": base.resource, "create": base.create, "old": base.old} for base in used],
        "cases": [
            {
                **{"base": places[id(case.base)], "via": case.via, "patch": case.patch, "code": case.code},
                **({"causes": case.causes, "reason": case.reason, "message": case.message} if case.code >= 400 else {}),
                **({"unordered": True} if case.unordered else {}),
                **({"written": True} if case.written else {}),
            }
            for case in cases
        ],
    }
    for case in document["cases"]:
        if case.get("causes"):
            del case["message"], case["reason"]  # they follow from the causes
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def read(file: Path) -> tuple[str, list[Case]]:
    """The version of the recorded server, and the cases."""
    document = json.loads(gzip.decompress(file.read_bytes()))
    bases = [
        Base(each["resource"], each["create"]["metadata"]["name"], each["create"], {}, each["old"])
        for each in document["bases"]
    ]
    return document["version"], [
        Case(
            bases[each["base"]],
            each["via"],
            [(tuple(path), value) for path, value in each["patch"]],
            each.get("written", False),
            each["code"],
            each.get("reason", "Invalid" if each.get("causes") else ""),
            each.get("message", ""),
            each.get("causes", []),
            each.get("unordered", False),
        )
        for each in document["cases"]
    ]
