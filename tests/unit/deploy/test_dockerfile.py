"""deploy/Dockerfile: what an image has to be that is run by strangers, read off its instructions."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from tests.dockerfile import IGNORED, ROOT, TEXT, given, instructions, stages


def test_both_stages_are_of_one_base_that_is_pinned() -> None:
    base = dict(given.split("=", 1) for name, given in instructions() if name == "ARG" and "=" in given)["BASE"]
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    build, final = stages()
    assert [each[0][1].split()[0] for each in (build, final)] == ["${BASE}", "${BASE}"]


def test_no_compiler_comes_along() -> None:
    said = " ".join(text for name, text in instructions() if name == "RUN")
    assert not re.search(r"\b(apt|apt-get|apk|gcc|cc|make|cargo|go)\b", said)
    assert all("--from=build" in text for text in given(stages()[1], "COPY")), "it has what was built alone"


def test_it_is_one_process_of_nobody_special() -> None:
    final = stages()[1]
    user, group = given(final, "USER")[-1].split(":")
    assert int(user) >= 1000 and int(group) >= 1000, "by number, so that runAsNonRoot can tell"
    (entry,) = given(final, "ENTRYPOINT")
    assert json.loads(entry) == ["/opt/gateway/bin/apiserver-gateway"], "no shell between"
    assert json.loads(given(final, "CMD")[0])


def test_it_says_whether_it_is_well_and_what_it_is() -> None:
    final = stages()[1]
    (check,) = given(final, "HEALTHCHECK")
    assert set(re.findall(r"--([a-z-]+)", check)) <= {"interval", "timeout", "start-period", "retries"}  # buildah's too
    words: list[Any] = json.loads(check.partition("CMD ")[2])
    assert words[0] == "/opt/gateway/bin/python" and "/readyz" in words[-1]
    compile(words[-1], "HEALTHCHECK", "exec")
    labels = dict(word.split("=", 1) for text in given(final, "LABEL") for word in shlex.split(text))
    prefix = "org.opencontainers.image."
    wanted = {"title", "description", "licenses", "version", "revision", "base.name", "base.digest"}
    assert {name.removeprefix(prefix) for name in labels} >= wanted
    named, _, digest = next(text.split("=", 1)[1] for name, text in instructions() if name == "ARG").partition("@")
    assert labels[f"{prefix}base.name"] == f"docker.io/library/{named}" and labels[f"{prefix}base.digest"] == digest


def test_the_context_holds_what_is_copied_and_nothing_else() -> None:
    copied = {word for text in given(stages()[0], "COPY") for word in text.split()[:-1]}
    assert IGNORED[0] == "**" and {each[1:] for each in IGNORED if each.startswith("!")} == copied
    assert all((ROOT / each).exists() for each in copied)


def test_how_to_build_it_for_other_machines_and_with_a_bill_of_materials_is_said() -> None:
    assert "--platform linux/amd64,linux/arm64" in TEXT and "--sbom=true" in TEXT
