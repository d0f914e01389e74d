"""Shares of an arm's results, with their intervals."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from remora.evals.arm_results import Basis, TargetResult

_DRAWS = 2000
"""Draws for an interval (decision: with more, its ends hardly move)."""
_LOWEST, _HIGHEST = 0.025, 0.975
"""The quantiles of a 95 % interval."""
_Z_SQUARED = 1.96**2
"""The square of the normal quantile for 95 %."""


class Counts(NamedTuple):
    """Numbers of targets, of those for which something was written, and of right ones."""

    targets: int = 0
    written: int = 0
    right: int = 0


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A share or a difference of shares, and its 95 % interval if it is known."""

    value: float | None
    interval: tuple[float, float] | None = None


Share = tuple[str, str]
"""The fields of `Counts` that a share divides."""
SHARES: Mapping[Basis, Mapping[str, Share]] = {
    "people": {
        "precision": ("right", "written"),
        "coverage": ("written", "targets"),
        "restored": ("right", "targets"),
    },
    "checks": {"verified": ("right", "targets")},
}


def counts_of(results: Sequence[TargetResult]) -> Counts:
    return Counts(
        len(results),
        sum(result.is_written for result in results),
        sum(result.is_right for result in results),
    )


def estimates(basis: Basis, results: Sequence[TargetResult], seed: int) -> dict[str, Estimate]:
    """Return each share with its interval.

    Files are drawn with replacement. Where few targets are known, draws hardly differ, so the
    interval is at least that of the targets alone.
    """
    counts = counts_of(results)
    found = _estimate(basis, [results], lambda shares: shares[0], seed)
    return {
        name: _widen(found[name], getattr(counts, whole))
        for name, (_, whole) in SHARES[basis].items()
    }


def _widen(found: Estimate, number: int) -> Estimate:
    if found.value is None:
        return found
    ends = *wilson_interval(found.value, number), *(found.interval or ())
    return Estimate(value=found.value, interval=(min(ends), max(ends)))


def wilson_interval(share: float, number: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of `number` independent parts.

    It stays wide for few parts, also if they all agree: E. B. Wilson, "Probable inference, the law
    of succession, and statistical inference", Journal of the American Statistical Association 22,
    1927.
    """
    center = (share + _Z_SQUARED / (2 * number)) / (1 + _Z_SQUARED / number)
    spread = share * (1 - share) / number + _Z_SQUARED / (4 * number**2)
    half = math.sqrt(_Z_SQUARED * spread) / (1 + _Z_SQUARED / number)
    return max(0.0, center - half), min(1.0, center + half)


def differences(
    basis: Basis, first: Sequence[TargetResult], other: Sequence[TargetResult], seed: int
) -> dict[str, Estimate]:
    """Return the difference of each share to the first arm. Both arms have the same targets.

    The interval comes from drawing the same files for both.
    """
    return _estimate(basis, [first, other], lambda shares: shares[1] - shares[0], seed)


def _estimate(
    basis: Basis,
    arms: Sequence[Sequence[TargetResult]],
    measure: Callable[[Sequence[float]], float],
    seed: int,
) -> dict[str, Estimate]:
    by_file = [_by_file(results) for results in arms]
    files = sorted(by_file[0])
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    number = _DRAWS if len(files) > 1 else 0
    samples = [chance.choices(files, k=len(files)) for _ in range(number)]
    draws = [[_total(arm, sample) for arm in by_file] for sample in samples]
    found = {}
    for name, share in SHARES[basis].items():
        whole, *drawn = (
            _measure(totals, share, measure)
            for totals in ([_total(arm, files) for arm in by_file], *draws)
        )
        known = sorted(value for value in drawn if value is not None)
        last = len(known) - 1
        ends = (known[round(last * _LOWEST)], known[round(last * _HIGHEST)]) if known else None
        found[name] = Estimate(value=whole, interval=ends)
    return found


def _measure(
    totals: Sequence[Counts], share: Share, measure: Callable[[Sequence[float]], float]
) -> float | None:
    parts = [(getattr(counts, share[0]), getattr(counts, share[1])) for counts in totals]
    return (
        measure([part / whole for part, whole in parts])
        if all(whole for _, whole in parts)
        else None
    )


def _by_file(results: Sequence[TargetResult]) -> Mapping[str, Counts]:
    grouped: dict[str, list[TargetResult]] = defaultdict(list)
    for result in results:
        grouped[result.target.path].append(result)
    return {path: counts_of(group) for path, group in grouped.items()}


def _total(arm: Mapping[str, Counts], files: Sequence[str]) -> Counts:
    return Counts(*map(sum, zip(*(arm[path] for path in files), strict=True)))
