"""Which shards are handed out again, by the claims of their agents' streams."""

import pytest

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from remora.engines.ray_engine import FIRST_PAUSE, LostShards
from remora.trace.postgres.store import AgentClaim

SHARDS = {"a": 0, "b": 0, "c": 0, "d": 1}


def alive(agent: str, epoch: int = 1) -> AgentClaim:
    return AgentClaim(agent, epoch, False)


def silent(agent: str, epoch: int = 1) -> AgentClaim:
    return AgentClaim(agent, epoch, True)


def test_a_shard_is_lost_once_if_its_worker_is_silent() -> None:
    lost = LostShards(SHARDS, [])
    assert lost.look([alive("a"), alive("d")]) == []
    assert lost.look([silent("a"), alive("d")]) == [0]
    assert lost.look([silent("a"), alive("d")]) == []


def test_the_next_worker_of_a_lost_shard_can_be_lost_too() -> None:
    lost = LostShards(SHARDS, [])
    lost.look([alive("a")])
    assert lost.look([silent("a")]) == [0]
    lost.look([silent("a"), alive("b")])
    assert lost.look([silent("a"), silent("b")]) == [0]


def test_a_shard_is_lost_again_if_nobody_claims_its_jobs() -> None:
    lost = LostShards(SHARDS, [])
    lost.look([alive("a")])
    found = [lost.look([silent("a")]) for _ in range(3 * FIRST_PAUSE + 2)]
    assert [look for look, numbers in enumerate(found) if numbers == [0]] == [
        0,
        FIRST_PAUSE,
        3 * FIRST_PAUSE,
    ]
    lost.look([silent("a"), alive("b")])
    assert not any(lost.look([silent("a"), alive("b")]) for _ in range(9 * FIRST_PAUSE))


def test_a_worker_that_continues_a_shard_is_not_lost_while_old_claims_are_silent() -> None:
    lost = LostShards(SHARDS, [])
    lost.look([alive("a")])
    lost.look([alive("a"), alive("b")])  # the worker of `a` has died, and its lease has not ended
    assert lost.look([silent("a"), alive("b")]) == []
    assert lost.look([silent("a")]) == []  # between two jobs
    assert lost.look([silent("a"), alive("c")]) == []
    assert lost.look([alive("a", 2)]) == []
    assert lost.look([silent("a", 2)]) == [0]


def test_claims_of_an_earlier_run_say_nothing() -> None:
    lost = LostShards(SHARDS, [alive("a"), silent("b")])
    assert lost.look([alive("a"), silent("b")]) == []
    assert lost.look([silent("a"), silent("b")]) == []
    assert lost.look([alive("z")]) == []
