"""Heuristics as data: what a rule is about, why it decides so, and how often it did."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

of_version = lru_cache(maxsize=8)
"""Keeps what a function says of versions of files: two of each of four jobs at a time (decision)."""
Case = TypeVar("Case")


class Rule(NamedTuple, Generic[Case]):
    """A heuristic that refuses something, or leaves it as it is."""

    name: str
    """Its name in documentation."""
    example: str
    """Code that the rule is about."""
    reason: str
    """Why it decides so, as users read it."""
    measured: str
    """How often it decided in a measurement, and if known how often rightly."""
    holds: Callable[[Case], bool]
    """Returns True for the cases that the rule is about."""


def first_of(rules: Iterable[Rule[Case]], case: Case) -> Rule[Case] | None:
    """Return the first rule that is about a case, or None."""
    return next((rule for rule in rules if rule.holds(case)), None)
