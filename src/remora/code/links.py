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
    """Other end of a link: a node key or `ext:os.path.join`; ascending lines, if it is a call."""

    key: str
    tier: Tier
    lines: tuple[int, ...]


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """A test that exercises a node; `id` is its pytest ID (`tests/test_a.py::TestB::test_c`)."""

    id: str
    tier: Tier
