"""What links two nodes, and how surely."""

from typing import Literal

import msgspec

Tier = Literal["exact", "inferred", "unique", "observed"]
TIERS: tuple[Tier, ...] = ("exact", "inferred", "unique", "observed")
"""Surest first: import-aware; by assignments, attributes, returns and callbacks; the only
definition of that name; seen while tests ran."""
TIER_RANK = {tier: rank for rank, tier in enumerate(TIERS)}
"""0 is the surest."""


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """One end of a link: the node at the other end, its tier, and the lines of the calls.

    `key` is a node key, or `ext:os.path.join` for what lies outside the project. `lines` count from
    1 in the file of the calling node, ascending, each once; empty where a link is no call.
    """

    key: str
    tier: Tier
    lines: tuple[int, ...]


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """A test that exercises a node: `id` is pytest's (`tests/test_a.py::TestB::test_c`)."""

    id: str
    tier: Tier
