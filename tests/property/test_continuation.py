"""A resumed agent reaches the same result as an uninterrupted one, wherever it was cut off."""

import asyncio
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remora.agents.fork import fork_point_at
from remora.trace.read.state_at import packet_at
from tests.agents.conftest import SUBMIT, Play, Theatre, told
from tests.agents.test_resume import (
    BAD,
    BROKEN,
    NOTHING,
    Facts,
    X,
    Y,
    an_agent,
    call,
    choosing,
)

ANSWERS = [X, Y, NOTHING, BROKEN, BAD, call("x ="), SUBMIT]
WEIGHTS = st.fixed_dictionaries({answer: st.integers(0, 4) for answer in ANSWERS}).filter(
    lambda weights: sum(weights.values()) > 0
)


def play(seed: int, weights: dict[str, int], cuts: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as loop:
        theatre = Theatre(Path(folder), loop)
        piece = Play(
            agent=an_agent(theatre),
            answers=choosing(seed, weights),
            max_turns=2 + seed % 7,
            facts=Facts(),
            opening=bool(seed % 3),
        )
        whole = theatre.play(piece)
        for cut in cuts:
            again = theatre.go_on(piece, whole, int(cut * len(whole.events)))
            assert told(again) == told(whole)
            assert again.after == whole.after
            assert msgspec.structs.replace(again.result, head=whole.result.head) == whole.result
        for turn in range(whole.result.turns + 1):
            assert fork_point_at(whole.events, turn).packet == packet_at(
                whole.events, turn, shown=False
            )


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    WEIGHTS,
    st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=4),
)
def test_any_agent_cut_off_anywhere(seed: int, weights: dict[str, int], cuts: list[float]) -> None:
    play(seed, weights, cuts)


def test_one_of_them() -> None:
    play(1, dict.fromkeys(ANSWERS, 1), [0.1, 0.5, 0.9])
