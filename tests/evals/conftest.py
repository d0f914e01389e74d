"""Agents that play into real streams, for what is evaluated on them."""

from pathlib import Path

import pytest

from tests.agents.conftest import Play, Played, Theatre, loop, theatre
from tests.golden.record import call

__all__ = ["loop", "theatre"]

ORDERS = """
    from remora.pym import Input
    about: str = Input("about")
    if about == "all":
        found = {"orders": [{"id": "ord-7731", "total": 250}, {"id": "ord-8842", "total": 31}],
                 "noise": ["n%04d" % n for n in range(60)]}
    else:
        found = {"id": about, "customer": "mallory@example.org"}
    found
    """
"""A tool that leaves it to a summarizer to say what its results are worth."""
LOOKS = [
    call("act", about="all"),
    call("act", about="ord-8842"),
    call("act", about="mallory@example.org"),
    call("act", about="never told"),
    call("submit_result", summary="done"),
]
"""The second and third call need what the results before them said, the fourth what none did."""


@pytest.fixture
def looked(theatre: Theatre) -> Played:
    """An agent that looked at orders, within 3,000 tokens."""
    return theatre.play(Play(agent=theatre.tool(ORDERS), answers=LOOKS))


def root_of(played: Played) -> Path:
    """The project's folder."""
    return played.folder.root
