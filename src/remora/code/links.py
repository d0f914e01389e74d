"""Links between nodes, with confidence tiers."""

from typing import Literal

import msgspec

Tier = Literal["exact", "inferred", "unique", "possible", "covered"]
TIERS: tuple[Tier, ...] = ("exact", "inferred", "unique", "possible", "covered")
"""Confidence tiers, most certain first. `exact`: resolved through imports. `inferred`: derived from
assignments, attributes, returns and callbacks. `unique`: the only definition with that name.
`possible`: one of several inferred alternatives. `covered`: a test that coverage saw enter a node."""
TIER_RANK = {tier: rank for rank, tier in enumerate(TIERS)}
"""Maps each tier to its rank; 0 is the most certain."""


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """The other end of a link.

    `key` is a node key, or an external name such as `ext:os.path.join`. `lines` contains the line
    numbers of the calls in ascending order. It is empty if the link is not a call.
    """

    key: str
    tier: Tier
    lines: tuple[int, ...]


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """A test that exercises a node.

    `id` is the pytest ID of the test, such as `tests/test_a.py::TestB::test_c`.
    """

    id: str
    tier: Tier
