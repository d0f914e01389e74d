"""Fixtures of agents and of host functions, for the tests of operations."""

from tests.agents.conftest import embedded, loop, theatre, weights_cache
from tests.tools.host.conftest import call, refusal, tree

__all__ = [
    "call", "embedded", "loop", "refusal", "theatre", "tree", "weights_cache",
]  # fmt: skip
