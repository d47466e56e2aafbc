#!/usr/bin/env python3
"""Records what kube-apiserver's CEL packages answer for tests/unit/cel/cases.json, into answers.json beside it.

    hack/cel_answers.py                   # needs Go; builds hack/cel
    hack/cel_answers.py --declarations    # writes gateway/cel/declarations.json instead

cases.json names the schemas and objects that its cases use: "expressions" (in the bare environment), "rules" (of a
schema, with self and oldSelf) and "validations" (all rules of a schema, of one object). hack/cel/main.go says what an
answer is.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "unit" / "cel"
# the name that kube-apiserver gives to the type of self has a number that is never the same
_SELF_TYPE = re.compile(r"selfType\d+")


def ask(what: str, cases: Any) -> Any:
    """What hack/cel answers."""
    command = ["go", "run", ".", what]
    answer = subprocess.run(command, cwd=ROOT / "hack" / "cel", input=json.dumps(cases), text=True, capture_output=True)
    if answer.returncode:
        raise SystemExit(answer.stderr)
    return json.loads(_SELF_TYPE.sub("selfType", answer.stdout))


def resolved(case: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """A case with the schema and the objects that it names."""
    case = {**case, "schema": document["schemas"][case["schema"]]}
    return {key: document["objects"][value] if key in ("self", "oldSelf") else value for key, value in case.items()}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--declarations", action="store_true")
    if arguments.parse_args().declarations:
        listed = ask("declarations", None)
        functions = {name: listed["functions"][name] for name in sorted(listed["functions"])}
        target = ROOT / "gateway" / "cel" / "declarations.json"
        lines = (f"  {json.dumps(name)}: {json.dumps(overloads)}" for name, overloads in functions.items())
        target.write_text('{"functions": {\n' + ",\n".join(lines) + "\n}}\n")
        return
    document = json.loads((FOLDER / "cases.json").read_text())
    answers = {
        "expressions": ask("answers", [{"expression": each} for each in document["expressions"]]),
        "rules": ask("answers", [resolved(each, document) for each in document["rules"]]),
        "validations": ask("validations", [resolved(each, document) for each in document["validations"]]),
    }
    (FOLDER / "answers.json").write_text(json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
