"""The worksheet of a move to another release finds what changed in Go source, and the module here that has it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

MINORS = Path(__file__).parents[3] / "hack" / "minors"
SOURCE = """package validation

// ValidatePod tells what is wrong.
func ValidatePod(pod *core.Pod) field.ErrorList {
	// a comment
	return nil
}

func (s *podStrategy) Validate(ctx context.Context) bool {
	if true {
		return false
	}
	return true
}

func generic[T any](value T) {
}
"""
TYPES = """package v1

type PodSpec struct {
	// The name.
	NodeName string `json:"nodeName,omitempty" protobuf:"bytes,10,opt,name=nodeName"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	hidden string
}
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a program of hack/minors by its name."""
    monkeypatch.syspath_prepend(MINORS)
    return import_module


def test_functions_are_found_with_their_types_and_without_comments(script: Any, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "validation.go").write_text(SOURCE)
    (tmp_path / "pkg" / "validation_test.go").write_text(SOURCE)
    found = script("go_source").functions(tmp_path, ("pkg",))
    assert [name for _, name in found] == ["ValidatePod", "podStrategy.Validate", "generic"]
    assert found["pkg/validation.go", "ValidatePod"].splitlines()[1] == "\treturn nil"
    assert found["pkg/validation.go", "podStrategy.Validate"].endswith("return true\n}")


def test_fields_are_found_by_their_names_in_json(script: Any, tmp_path: Path) -> None:
    (tmp_path / "core" / "v1").mkdir(parents=True)
    (tmp_path / "core" / "v1" / "types.go").write_text(TYPES)
    assert script("go_source").fields(tmp_path) == {"core/v1.PodSpec": {"nodeName", "metadata"}}


@pytest.mark.parametrize(
    ("module", "file", "name", "here"),
    [
        ("kubernetes", "pkg/registry/apps/deployment/strategy.go", "deploymentStrategy.Validate", "deployments.py"),
        ("kubernetes", "pkg/apis/batch/validation/validation.go", "ValidateCronJobSpec", "cronjobs.py"),
        ("apiserver", "pkg/endpoints/handlers/patch.go", "patchResource", "gateway/writing"),
        ("kubernetes", "pkg/unknown/file.go", "Do", "no module found"),
    ],
)
def test_the_module_with_a_rule_is_named(script: Any, module: str, file: str, name: str, here: str) -> None:
    assert here in script("worksheet")._here(module, file, [name])


@pytest.mark.parametrize(
    ("compatible", "state"),
    [((), ["BETA", False, False]), ((1, 37), ["BETA", True, False]), ((1, 38), ["", True, True])],
)
def test_a_gate_is_off_while_earlier_replicas_are_expected(
    script: Any, compatible: tuple[int, ...], state: list[Any]
) -> None:
    specs = [
        ["1.37", "BETA", False, False, ""],
        ["1.37", "BETA", True, False, "1.37"],
        ["1.38", "", True, True, ""],
    ]
    minor = "1.38" if compatible == (1, 38) else "1.37"
    assert script("gates").state_at(specs, minor, compatible) == state


def test_the_minor_of_a_release_that_comes_is_without_its_stage(script: Any) -> None:
    assert script("gates").minor_of("1.38.0-beta.0") == "1.38"
