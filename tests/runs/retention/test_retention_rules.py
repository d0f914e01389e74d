"""The rules of retention, on facts alone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remora.config.schema import RetentionConfig
from remora.runs.retention.inventory import Inventory, RunFacts
from remora.runs.retention.retention_rules import (
    GRACE,
    Limits,
    is_older,
    limits_of,
    unreferenced,
    what_is_due,
)
from remora.trace.removal import StoredContent

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def days(number: float) -> datetime:
    return NOW - timedelta(days=number)


def run(
    name: str, age: float | None, size: int = 100, *names: str, hands_off: str = "", **more: object
) -> RunFacts:
    last = None if age is None else days(age)
    return RunFacts(
        run_id=name, first=last, last=last, hands_off=hands_off, streams={Path(name): size},
        names=frozenset(names), begun=bool(more.get("begun")),
    )  # fmt: skip


def content(digest: str, age: float, size: int = 1, *, objects: bool = False) -> StoredContent:
    put = days(age).timestamp()
    path = Path("objects" if objects else "blobs", digest[:2], digest)
    return StoredContent(path=path, bytes=size, put=put)


POLICY = limits_of(RetentionConfig())
NEVER = Limits()


def test_the_limits_are_what_is_configured() -> None:
    assert Limits(remove=30, compress=2, backups=30) == POLICY
    assert limits_of(RetentionConfig(keep_days=None, compress_after_days=None)) == NEVER


def due(runs: list[RunFacts], limits: Limits) -> list[str]:
    return [run.run_id for run in what_is_due(Inventory(runs), limits, NOW).runs]


@pytest.mark.parametrize(
    ("age", "due"), [(30, False), (30.0001, True), (-400, False), (None, False)]
)
def test_a_run_is_due_when_its_last_event_is_older(age: float | None, due: bool) -> None:
    assert is_older(run("a", age).last, POLICY.remove, NOW) is due
    assert not is_older(run("a", age).last, None, NOW)


def test_what_is_old_expires_but_for_what_may_not_be_touched() -> None:
    runs = [run("a", 99), run("b", 99, hands_off="no"), run("c", 9), run("d", None)]
    assert due(runs, POLICY) == ["a"]
    assert due(runs, NEVER) == []


def test_what_was_half_removed_is_removed_to_its_end_whatever_the_policy_is_now() -> None:
    runs = [run("a", 1, begun=True), run("b", 1, hands_off="no", begun=True)]
    assert due(runs, NEVER) == ["a"]


def test_agents_are_compressed_before_their_run_and_nothing_twice() -> None:
    sizes = {"x.jsonl": 5, "y.jsonl.zst": 5, "z.jsonl": 0, "r.jsonl": 5}
    streams = {Path(name): size for name, size in sizes.items()}
    old = RunFacts(run_id="r", last=days(3), streams=streams, names=frozenset())
    found = Inventory([old, run("a", 3, hands_off="no"), run("b", 1)])
    due = what_is_due(found, POLICY, NOW).streams
    assert [path.name for path in due] == ["x.jsonl", "r.jsonl"]


class TestContents:
    def going(
        self,
        found: StoredContent,
        *left: RunFacts,
        freed: tuple[str, ...] = (),
        policy: Limits = POLICY,
    ) -> bool:
        inventory = Inventory(left, [found], freed)
        return unreferenced(inventory, (), policy.backups, NOW) == [found]

    def test_a_blob_that_no_run_names_goes_after_a_day(self) -> None:
        assert timedelta(days=1) == GRACE
        assert self.going(content("x", 1.1), run("a", 3, 1, "y"))
        assert not self.going(content("x", 0.9), run("a", 3, 1, "y"))
        assert not self.going(content("x", 400), run("a", 3, 1, "y", "x"))

    def test_nothing_goes_while_a_run_cannot_be_read(self) -> None:
        unknown = RunFacts(
            run_id="a", first=None, last=None, hands_off="no", streams={}, names=None
        )
        assert not self.going(content("x", 400), unknown)

    def test_an_object_that_an_expired_run_named_goes_too(self) -> None:
        assert self.going(content("x", 2, objects=True), freed=("x",))
        assert not self.going(content("x", 0.9, objects=True), freed=("x",))
        assert not self.going(content("x", 9, objects=True), run("a", 3, 1, "x"), freed=("x",))

    def test_any_other_object_may_be_a_backup_and_stays_as_long_as_a_run(self) -> None:
        backup = content("x", 20, objects=True)
        assert not self.going(backup)
        assert self.going(content("x", 31, objects=True))
        assert not self.going(content("x", 31, objects=True), policy=NEVER)

    def test_a_backup_stays_with_the_run_during_which_it_was_made(self) -> None:
        during = RunFacts(
            run_id="a", first=days(50), last=days(40), hands_off="no", streams={}, names=frozenset()
        )
        assert not self.going(content("x", 45, objects=True), during)
        assert self.going(content("x", 39, objects=True), during)
