#!/usr/bin/env python3
"""Generates gateway/cel/grammar.json: the automata of CEL's grammar, which word syntax errors as cel-go's parser does.

They are taken from the published Go module github.com/google/cel-go (parser/gen/*.interp, made by ANTLR from CEL.g4):

    hack/cel_grammar.py [--module DIR]    # without DIR, `go mod download` finds it
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

MODULE = "github.com/google/cel-go@v0.26.0"
TARGET = Path(__file__).resolve().parent.parent / "gateway" / "cel" / "grammar.json"


def sections(path: Path) -> dict[str, list[str]]:
    """The lists of an .interp file by their headings."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in path.read_text().splitlines():
        if line.endswith(":") and not line.startswith("'"):
            heading = line[:-1]
            found[heading] = []
        elif line:
            found[heading].append(line)
    return found


def grammar(path: Path) -> dict[str, object]:
    """What is needed of an .interp file."""
    parts = sections(path)
    return {
        "literals": [None if name == "null" else name for name in parts["token literal names"]],
        "symbols": [None if name == "null" else name for name in parts["token symbolic names"]],
        "rules": parts["rule names"],
        "automaton": json.loads("".join(parts["atn"])),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--module", type=Path)
    module = arguments.parse_args().module
    if module is None:
        answer = subprocess.run(["go", "mod", "download", "-json", MODULE], check=True, capture_output=True, text=True)
        module = Path(json.loads(answer.stdout)["Dir"])
    files = module / "parser" / "gen"
    document = {"parser": grammar(files / "CEL.interp"), "lexer": grammar(files / "CELLexer.interp")}
    TARGET.write_text(json.dumps(document, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
