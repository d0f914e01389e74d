"""The rules of retention, on facts alone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.config.schema import RetentionConfig
from remora.runs.retention.retention_rules import (
    GRACE,
    Policy,
    RunFacts,
    StreamFacts,
    expiring_by_age,
    expiring_by_size,
    is_due,
    kept_past_due,
    to_seal,
    unreferenced,
)
from remora.trace.retention.unused_contents import StoredContent

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MIB = 1024 * 1024


def days(number: float) -> datetime:
    return NOW - timedelta(days=number)


def run(
    name: str, age: float | None, size: int = 100, *names: str, hands_off: str = "", **more: object
) -> RunFacts:
    last = None if age is None else days(age)
    stream = StreamFacts(kind="run", id=name, path=Path(name), bytes=size, sealed=False)
    return RunFacts(
        run_id=name, first=last, last=last, hands_off=hands_off, streams=(stream,),
        names=frozenset(names), begun=bool(more.get("begun")),
    )  # fmt: skip


def content(digest: str, age: float, size: int = 1, *, objects: bool = False) -> StoredContent:
    put = days(age).timestamp()
    return StoredContent(
        store="objects" if objects else "blobs", digest=digest, bytes=size, put=put
    )


def ids(runs: object) -> list[str]:
    assert hasattr(runs, "__iter__")
    return [found.run_id for found in runs]


POLICY = Policy.of(RetentionConfig())
NEVER = Policy(keep=None, compress=None, most_bytes=None)


def test_a_policy_is_what_is_configured() -> None:
    assert Policy(keep=timedelta(days=30), compress=timedelta(days=2), most_bytes=None) == POLICY
    config = RetentionConfig(keep_days=None, compress_after_days=None, keep_mb=3)
    assert Policy.of(config) == Policy(keep=None, compress=None, most_bytes=3 * MIB)


@pytest.mark.parametrize(
    ("age", "due"), [(30, False), (30.0001, True), (-400, False), (None, False)]
)
def test_a_run_is_due_when_its_last_event_is_older(age: float | None, due: bool) -> None:
    assert is_due(run("a", age), POLICY.keep, NOW) is due
    assert not is_due(run("a", age), None, NOW)


def test_what_is_old_expires_but_for_what_may_not_be_touched() -> None:
    runs = [run("a", 99), run("b", 99, hands_off="no"), run("c", 9), run("d", None)]
    assert ids(expiring_by_age(runs, POLICY, NOW)) == ["a"]
    assert ids(expiring_by_age(runs, NEVER, NOW)) == []


def test_what_was_half_removed_is_removed_to_its_end_whatever_the_policy_is_now() -> None:
    runs = [run("a", 1, begun=True), run("b", 1, hands_off="no", begun=True)]
    assert ids(expiring_by_age(runs, NEVER, NOW)) == ["a"]


def test_agents_are_sealed_before_their_run_and_nothing_twice() -> None:
    streams = [
        StreamFacts(kind="agent", id="x", path=Path("x"), bytes=5, sealed=False),
        StreamFacts(kind="agent", id="y", path=Path("y"), bytes=5, sealed=True),
        StreamFacts(kind="agent", id="z", path=Path("z"), bytes=0, sealed=False),
        StreamFacts(kind="run", id="r", path=Path("r"), bytes=5, sealed=False),
    ]
    old = RunFacts(
        run_id="r",
        first=None,
        last=days(3),
        hands_off="",
        streams=tuple(streams),
        names=frozenset(),
    )
    assert [stream.id for _, stream in to_seal([old], POLICY, NOW)] == ["x", "r"]
    assert not list(to_seal([run("a", 3, hands_off="no"), run("b", 1)], POLICY, NOW))


class TestBySize:
    def policy(self, most: int) -> Policy:
        return Policy(keep=None, compress=None, most_bytes=most)

    def test_the_oldest_go_until_it_fits(self) -> None:
        runs = [run("new", 1, 100), run("old", 9, 100), run("mid", 5, 100)]
        assert ids(expiring_by_size(runs, [], self.policy(300))) == []
        assert ids(expiring_by_size(runs, [], self.policy(299))) == ["old"]
        assert ids(expiring_by_size(runs, [], self.policy(100))) == ["old", "mid"]
        assert ids(expiring_by_size(runs, [], NEVER)) == []

    def test_protected_runs_count_and_stay(self) -> None:
        runs = [run("old", 9, 100, hands_off="no"), run("new", 1, 100), run("none", None, 5)]
        assert ids(expiring_by_size(runs, [], self.policy(50))) == ["new"]

    def test_a_content_goes_with_the_last_run_that_names_it(self) -> None:
        runs = [run("old", 9, 10, "x"), run("mid", 5, 10, "x", "y"), run("new", 1, 10)]
        contents = [content("x", 9, 1_000), content("y", 5, 100), content("z", 5, 7)]
        assert ids(expiring_by_size(runs, contents, self.policy(1_136))) == ["old"]
        assert ids(expiring_by_size(runs, contents, self.policy(1_126))) == ["old", "mid"]
        assert ids(expiring_by_size(runs, contents, self.policy(17))) == ["old", "mid"]

    @given(
        st.lists(st.tuples(st.integers(0, 50), st.integers(0, 99), st.booleans()), max_size=12),
        st.integers(0, 900),
    )
    def test_removal_stops_at_the_limit_or_at_protected_runs(
        self, given_runs: list[tuple[int, int, bool]], most: int
    ) -> None:
        runs = [
            run(f"r{n}", age, size, hands_off="" if free else "no")
            for n, (age, size, free) in enumerate(given_runs)
        ]
        gone = list(expiring_by_size(runs, [], self.policy(most)))
        left = [found for found in runs if found not in gone]
        assert not any(found.hands_off for found in gone)
        if sum(found.bytes for found in left) > most:
            assert all(found.hands_off for found in left)
        elif gone:
            assert sum(found.bytes for found in left) + gone[-1].bytes > most
        free = [found.last for found in left if not found.hands_off and found.last]
        assert not gone or not free or max(g.last for g in gone if g.last) <= min(free)


class TestContents:
    def going(
        self,
        found: StoredContent,
        *left: RunFacts,
        freed: tuple[str, ...] = (),
        policy: Policy = POLICY,
    ) -> bool:
        return list(unreferenced([found], left, freed, policy, NOW)) == [found]

    def test_a_blob_that_no_run_names_goes_after_a_day(self) -> None:
        assert timedelta(days=1) == GRACE
        assert self.going(content("x", 1.1), run("a", 3, 1, "y"))
        assert not self.going(content("x", 0.9), run("a", 3, 1, "y"))
        assert not self.going(content("x", 400), run("a", 3, 1, "y", "x"))

    def test_nothing_goes_while_a_run_cannot_be_read(self) -> None:
        unknown = RunFacts(
            run_id="a", first=None, last=None, hands_off="no", streams=(), names=None
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
            run_id="a", first=days(50), last=days(40), hands_off="no", streams=(), names=frozenset()
        )
        assert not self.going(content("x", 45, objects=True), during)
        assert self.going(content("x", 39, objects=True), during)


def test_only_what_is_due_is_named_as_kept() -> None:
    runs = [run("old", 99, hands_off="waits"), run("new", 1, hands_off="waits"), run("ok", 99)]
    lost = run("lost", None, hands_off="no run")
    assert list(kept_past_due([*runs, lost], POLICY, NOW, too_much=False)) == [
        ("old", "waits"),
        ("lost", "no run"),
    ]
    assert [name for name, _ in kept_past_due(runs, POLICY, NOW, too_much=True)] == ["old", "new"]
