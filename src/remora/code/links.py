"""Links between nodes, with tiers of confidence."""

from typing import Literal

import msgspec

Tier = Literal["exact", "inferred", "unique", "observed"]
TIERS: tuple[Tier, ...] = ("exact", "inferred", "unique", "observed")
"""Most certain first: resolved through imports; inferred from assignments, attributes, returns and
callbacks; the only definition of that name; observed while tests ran."""
TIER_RANK = {tier: rank for rank, tier in enumerate(TIERS)}
"""Tier → rank; 0 is the most certain."""


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """One end of a link: the node at the other end, its tier, and the lines of the calls.

    `key` is a node key, or `ext:os.path.join` for a name outside the project. `lines` count from 1
    in the file of the calling node, ascending and unique; empty if the link is not a call.
    """

    key: str
    tier: Tier
    lines: tuple[int, ...]


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """A test that exercises a node; `id` is its pytest ID (`tests/test_a.py::TestB::test_c`)."""

    id: str
    tier: Tier
