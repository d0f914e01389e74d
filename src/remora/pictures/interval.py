"""Numbers of an evaluation with their intervals, and what a reader sees of them."""

from typing import NamedTuple


class Estimate(NamedTuple):
    """A number between `low` and `high`, the ends of its interval. Both are equal to it if it is exact."""

    value: float
    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


def exact(value: float) -> Estimate:
    """Return a number that was counted, and has no interval."""
    return Estimate(value, value, value)


def share_text(found: Estimate | None) -> str:
    """Return a share with its interval, such as `91 % (88 to 95)`, or `-` if it is not known."""
    if found is None:
        return "-"
    ends = "" if found.is_exact else f" ({found.low * 100:.0f} to {found.high * 100:.0f})"
    return f"{found.value * 100:.0f} %{ends}"


def number_text(found: Estimate | None) -> str:
    """Return a number, such as `1,055`, or `-` if it is not known."""
    return "-" if found is None else f"{found.value:,.0f}"
