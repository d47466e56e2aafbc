"""One migration of a resource runs at a time, the oldest first."""

from __future__ import annotations

from gateway.controllers.migration_turns import MigrationStage, MigrationTurns

PODS, NODES = ("", "pods"), ("", "nodes")


def test_the_oldest_is_next_and_none_while_one_runs() -> None:
    turns = MigrationTurns()
    for key, resource, rank in ((b"b", PODS, ("2", "b")), (b"a", PODS, ("1", "z")), (b"n", NODES, ("3", "n"))):
        turns.note(key, resource, MigrationStage.WAITS, rank)
    assert (turns.next(PODS), turns.next(NODES)) == (b"a", b"n")
    turns.note(b"a", PODS, MigrationStage.RUNS, ("1", "z"))
    assert (turns.next(PODS), turns.next(NODES)) == (None, b"n")
    turns.note(b"a", PODS, MigrationStage.ENDED, ("1", "z"))
    assert turns.next(PODS) == b"b"


def test_of_the_same_second_the_name_decides() -> None:
    turns = MigrationTurns()
    for name in "ba":
        turns.note(name.encode(), PODS, MigrationStage.WAITS, ("1", name))
    assert turns.next(PODS) == b"a"


def test_one_that_is_deleted_is_passed_over_and_one_made_again_counts_as_new() -> None:
    turns = MigrationTurns()
    turns.note(b"a", PODS, MigrationStage.WAITS, ("1", "a"))
    turns.note(b"b", PODS, MigrationStage.WAITS, ("2", "b"))
    turns.drop(b"a")
    assert turns.next(PODS) == b"b"
    turns.note(b"a", PODS, MigrationStage.WAITS, ("3", "a"))
    assert turns.next(PODS) == b"b"
    turns.drop(b"b")
    assert turns.next(PODS) == b"a"
    turns.note(b"a", PODS, MigrationStage.RUNS, ("3", "a"))
    turns.drop(b"a")
    assert turns.next(PODS) is None


def test_nothing_is_kept_of_what_has_ended() -> None:
    turns = MigrationTurns()
    turns.note(b"a", PODS, MigrationStage.WAITS, ("1", "a"))
    turns.note(b"a", PODS, MigrationStage.RUNS, ("1", "a"))
    turns.note(b"a", PODS, MigrationStage.ENDED, ("1", "a"))
    assert turns.next(PODS) is None and not (turns._places or turns._running or turns._waiting)
