"""Links between nodes, with confidence tiers."""

from typing import Literal

import msgspec

Tier = Literal["exact", "inferred", "unique", "possible", "covered"]
TIERS: tuple[Tier, ...] = ("exact", "inferred", "unique", "possible", "covered")
"""Confidence tiers, most certain first. `exact`: resolved through imports. `inferred`: derived from
assignments, attributes, returns and callbacks. `unique`: the only definition with that name.
`possible`: one of several inferred alternatives. `covered`: a test that coverage saw enter a node."""
Kind = Literal["call", "passed to", "inherit", "override", "reference", "constant"]
"""Kinds of links. `passed to`: the other node hands this one to code that may call it. `inherit`
and `override`: it is a subclass or overrider. `reference`: it uses it in any other way. `constant`:
it reads what this class or module assigns. Answers list it as a reference to the module."""
LISTS = {"inherit": "overrides", "override": "overrides", "reference": "references"}
"""The lists of an answer that have the kinds of links which are not callers."""
TIER_RANK = {tier: rank for rank, tier in enumerate(TIERS)}
"""Maps each tier to its rank; 0 is the most certain."""


class Edge(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The other end of a link.

    `key` is a node key, an external name such as `ext:os.path.join`, or an entry point such as
    `pyproject.toml:shop`. `lines` contains the line numbers of the calls or uses in ascending
    order, if they are known.
    """

    key: str
    tier: Tier
    lines: tuple[int, ...]
    kind: Kind = "call"


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """A test that exercises a node.

    `id` is the pytest ID of the test, such as `tests/test_a.py::TestB::test_c`.
    """

    id: str
    tier: Tier
