"""Records what a kube-apiserver says of faulty objects: tests/unit/validation/recorded/faults.json.gz.

    python -m tests.upstream validation_faults --binaries DIR --etcd PROGRAM    # starts a kube-apiserver and its etcd
    python -m tests.upstream validation_faults --server https://127.0.0.1:6443 --token TOKEN

Faulty objects of every built-in kind are made of valid ones (objects.yaml): each field wrong in the ways in which its
type can be (wrongs.py), and what stands there as `faults`. They are created, and updated into, in dry runs. Kept is one
fault for each field and wording of a cause, and some of what is accepted beside it; tests/unit replays them against
validation alone. faults-1.37.json.gz has the kinds whose rules 1.37 changed: it was made with `--only` and `--to`.
`--compare` replays all that were tried instead, and tells what differs: nothing is written then. `--sample NUMBER` asks
at most so many faults of each object, chosen by `--seed`, and all that objects.yaml names.

No admission plug-in is to be on: what they say is not validation.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import yaml

from gateway.release.minors import minor_of
from tests.unit.validation.replaying import told

from .asking import Case, Peer
from .choosing import bases, cases, field_of, is_judgement, kept, rough
from .recording import read, write
from .serving import kube_apiserver

HERE = Path(__file__).parent
_UID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TARGET = HERE.parent.parent / "tests" / "unit" / "validation" / "recorded" / "faults.json.gz"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", help="the URL of a kube-apiserver")
    parser.add_argument("--token", default="tok")
    parser.add_argument("--binaries", type=Path, help="the directory of kube-apiserver")
    parser.add_argument("--etcd", type=Path)
    parser.add_argument("--keep", type=Path, help="a file for all answers, to look at them again with --kept")
    parser.add_argument("--kept", type=Path, nargs="+", default=[], help="such files, in place of asking everything")
    parser.add_argument("--only", default="", help="resources, separated by commas: nothing is written without --to")
    parser.add_argument("--to", type=Path, help=f"a file of recordings in place of {TARGET.name}")
    parser.add_argument("--sample", type=int, default=0, help="faults asked of each object; 0, the default, means all")
    parser.add_argument("--seed", default="0", help="which sample")
    parser.add_argument("--compare", action="store_true", help="tell what differs here, and write nothing")
    options = parser.parse_args(words)
    only = set(filter(None, options.only.split(",")))
    files = [read(file) for file in options.kept]
    found = [case for _, cases in files for case in cases if not only or case.base.resource in only]
    if found and options.compare:
        return _compare(found, minor_of(files[0][0]))
    with contextlib.ExitStack() as stack:
        url = options.server or stack.enter_context(kube_apiserver(options.binaries, options.etcd, options.token))
        peer = Peer(url, options.token)
        version = peer.call("GET", "/version")[1]["gitVersion"]
        choose = partial(_sampled, options.sample, random.Random(options.seed))
        tried = found or list(_tried(peer, only, minor_of(version), choose))
        print(f"{len(tried)} tried, {sum(map(is_judgement, tried))} of them refused by validation")
        if options.keep:
            write(options.keep, version, tried)
        if options.compare:
            return _compare(tried, minor_of(version))
        faults, valid = kept(tried)
        faults = _ask_again(peer, faults)
    print(f"{len(faults)} faults and {len(valid)} valid objects kept")
    for resource, count in sorted(collections.Counter(case.base.resource for case in faults).items()):
        print(f"  {count:5} {resource}")
    if options.to or not options.only:
        _write(options.to or TARGET, version, faults, valid)
    return 0


def _is_possible(case: Case) -> bool:
    """Whether the object has what the fault changes: an earlier minor drops some fields of objects.yaml."""
    try:
        return bool(case.sent)
    except (TypeError, IndexError):
        return False


def _sampled(number: int, source: random.Random, found: list[Case]) -> list[Case]:
    """At most `number` of the faults that are made from types, and all that are written by hand; 0 means all."""
    made = [case for case in found if not case.written]
    if not number or len(made) <= number:
        return found
    chosen = set(map(id, source.sample(made, number)))
    return [case for case in found if case.written or id(case) in chosen]


def _tried(peer: Peer, only: set[str], minor: str, choose: Callable[[list[Case]], list[Case]]) -> Iterator[Case]:
    document = yaml.safe_load((HERE / "objects.yaml").read_text())
    made = [base for base in bases(document, minor) if not only or base.resource in only]
    for base in made:
        if problem := peer.install(base):
            print(problem, file=sys.stderr)
            base.notes.append(problem)
    time.sleep(2)  # a kube-apiserver writes conditions of its own CRDs and APIServices
    for base in made:
        if not base.notes:
            peer.remember(base)
        asked = [case for case in choose(list(cases(base))) if _is_possible(case)]
        print(f"{base.resource} {base.name}: {len(asked)}", flush=True)
        peer.ask_all(asked)
        yield from asked


def _ask_again(peer: Peer, faults: list[Case]) -> list[Case]:
    """Tries cases again. Keeps those with the same answer, and marks those whose causes come in another order each
    time.
    """
    same = []
    for case in faults:
        before, alike = case.causes, True
        for _ in range(2):
            peer.ask(case)
            case.unordered = case.unordered or case.causes != before or _of_a_map(case)
            alike = alike and sorted(case.causes) == sorted(before)
        if alike:
            same.append(case)
    return same


def _of_a_map(case: Case) -> bool:
    """Whether the causes may be about several keys of a Go map, which has no order."""
    return len(case.causes) > 1 and any(re.search(r"\[[^]]*\D[^]]*\]|\[\]", cause[1]) for cause in case.causes)


def _compare(tried: list[Case], minor: str) -> int:
    """Tells where the rules of a minor differ from its kube-apiserver's answers."""
    differing: dict[tuple[str, ...], list[str]] = collections.defaultdict(list)
    for case in tried:
        if not is_judgement(case) and not 200 <= case.code < 300:
            continue
        old = None if case.via == "create" else case.base.old
        ours = told(case.base.resource, case.subresource, case.sent, old, minor)
        if isinstance(ours, str):
            got, lines = [["", "", ours]], [ours]
        else:
            got = [[each["reason"], each["field"], each["message"]] for each in ours]
        want, got = _without_uids(case.causes), _without_uids(got)
        if (sorted(got) == sorted(want)) if _of_a_map(case) else got == want:
            continue
        missing = [cause for cause in want if cause not in got]
        extra = [cause for cause in got if cause not in want]
        lines = [f"- {field_of(cause[1])} {rough(cause[2])}" for cause in missing]
        lines += [f"+ {field_of(cause[1])} {rough(cause[2])}" for cause in extra] or (
            [] if missing else ["number or order"]
        )
        key = (case.base.resource, case.via, *lines[:6])
        differing[key].append(json.dumps([case.base.name, case.patch, want, got], ensure_ascii=False)[:1500])
    for key, examples in sorted(differing.items()):
        print(f"\n{len(examples)} × {key[0]} {key[1]}", *key[2:], f"e.g. {examples[0]}", sep="\n    ")
    print(f"\n{sum(map(len, differing.values()))} of {len(tried)} differ, in {len(differing)} ways")
    return bool(differing)


def _without_uids(causes: Sequence[Sequence[str]]) -> list[list[str]]:
    """Causes without the uids that a server makes by itself."""
    return [[_UID.sub("UID", each) for each in cause] for cause in causes]


def _write(file: Path, version: str, faults: list[Case], valid: list[Case]) -> None:
    file.parent.mkdir(exist_ok=True)
    write(file, version, [*faults, *valid])
    print(f"wrote {file}, {file.stat().st_size} bytes")
