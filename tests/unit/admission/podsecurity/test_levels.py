"""The Pod Security labels of a namespace, with valid and invalid values."""

from __future__ import annotations

import pytest

from gateway.admission.podsecurity.levels import PREFIX, Level, LevelVersion, PodSecurityLevels, policy_of

B, R, P = Level.BASELINE, Level.RESTRICTED, Level.PRIVILEGED
NOTHING = PodSecurityLevels(*(LevelVersion(P),) * 3)


def labels(**modes: str) -> dict[str, str]:
    return {PREFIX + mode.replace("_", "-"): value for mode, value in modes.items()}


@pytest.mark.parametrize(
    ("asked", "policy"),
    [
        ({}, NOTHING),
        (labels(enforce="baseline"), PodSecurityLevels(LevelVersion(B), LevelVersion(P), LevelVersion(B))),
        (
            labels(enforce="restricted", enforce_version="v1.20", warn_version="v1.10"),
            PodSecurityLevels(LevelVersion(R, 20), LevelVersion(P), LevelVersion(R, 10)),
        ),
        (
            labels(enforce="restricted", warn="baseline"),
            PodSecurityLevels(LevelVersion(R), LevelVersion(P), LevelVersion(B)),
        ),
        (
            labels(audit="baseline", audit_version="v1.7"),
            PodSecurityLevels(LevelVersion(P), LevelVersion(B, 7), LevelVersion(P)),
        ),
    ],
)
def test_a_level_that_is_enforced_is_warned_of_too(asked: dict[str, str], policy: PodSecurityLevels) -> None:
    assert policy_of(asked, NOTHING) == (policy, [])


def test_the_defaults_hold_where_labels_say_nothing() -> None:
    defaults = PodSecurityLevels(LevelVersion(B, 20), LevelVersion(R), LevelVersion(R, 30))
    assert policy_of(labels(audit="privileged"), defaults)[0] == PodSecurityLevels(
        LevelVersion(B, 20), LevelVersion(P), LevelVersion(R, 30)
    )
    # what is warned of by default is stricter than what is enforced: that stays
    assert policy_of(labels(enforce="baseline"), defaults)[0].warn == LevelVersion(R, 30)


def test_a_wrong_level_enforces_the_strictest_and_warns_of_nothing() -> None:
    policy, errors = policy_of(labels(enforce="Baseline", warn="", audit="x"), NOTHING)
    assert policy == PodSecurityLevels(LevelVersion(R), LevelVersion(P), LevelVersion(P))
    assert [error.field for error in errors] == [f"metadata.labels[{PREFIX}{m}]" for m in ("enforce", "audit", "warn")]
    assert errors[0].body == 'Invalid value: "Baseline": must be one of privileged, baseline, restricted'


@pytest.mark.parametrize("text", ["v1.01", "1.2", "v2.0", "v1.", "v1.-1", "v1.9223372036854775808", "Latest", "v1.1 "])
def test_a_wrong_version_is_the_latest(text: str) -> None:
    policy, errors = policy_of(labels(enforce="baseline", enforce_version=text), NOTHING)
    assert policy.enforce == LevelVersion(B)
    assert errors[0].body.endswith('must be "latest" or "v1.x"')


def test_versions_to_come_are_versions() -> None:
    policy, errors = policy_of(labels(enforce="baseline", enforce_version="v1.9223372036854775807"), NOTHING)
    assert (policy.enforce.version, errors) == ("v1.9223372036854775807", [])
