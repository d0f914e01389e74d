"""Precision and coverage of an arm, with their intervals."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, get_args

import msgspec

from remora.evals.slot_results import SlotResult
from remora.operations.restorer import Outcome

_SAMPLES = 2000
_LOWEST, _HIGHEST = 0.025, 0.975
_Z_SQUARED = 1.96**2
"""The square of the normal quantile for 95 %."""


class Counts(NamedTuple):
    """Numbers of slots, of written ones, and of those with the same meaning as before."""

    slots: int = 0
    written: int = 0
    right: int = 0

    @property
    def precision(self) -> float | None:
        return self.right / self.written if self.written else None

    @property
    def coverage(self) -> float | None:
        return self.written / self.slots if self.slots else None

    @property
    def restored(self) -> float | None:
        """The share of all slots that were written with the same meaning as before."""
        return self.right / self.slots if self.slots else None


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A share or a difference of shares, and its 95 % interval if it is known."""

    value: float | None
    interval: tuple[float, float] | None = None


SHARES: Mapping[str, Callable[[Counts], float | None]] = {
    "precision": lambda counts: counts.precision,
    "coverage": lambda counts: counts.coverage,
    "restored": lambda counts: counts.restored,
}


def counts_of(results: Sequence[SlotResult]) -> Counts:
    return Counts(
        len(results),
        sum(each.is_written for each in results),
        sum(each.is_right for each in results),
    )


def outcomes_of(results: Sequence[SlotResult]) -> dict[str, int]:
    """Return how often each outcome occurs."""
    found = Counter(each.outcome for each in results)
    return {outcome: found[outcome] for outcome in get_args(Outcome)}


def by_kind(results: Sequence[SlotResult]) -> dict[str, dict[str, int]]:
    """Return the outcomes by kind of part."""
    kinds = dict.fromkeys(sorted(each.kind for each in results))
    return {kind: outcomes_of([e for e in results if e.kind == kind]) for kind in kinds}


def by_source(results: Sequence[SlotResult]) -> dict[str, Counts]:
    """Return the counts of the written slots, by what chose their text."""
    grouped: dict[str, list[SlotResult]] = defaultdict(list)
    for each in results:
        if each.source is not None:
            grouped[each.source].append(each)
    return {source: counts_of(each) for source, each in sorted(grouped.items())}


def estimates(results: Sequence[SlotResult], seed: int) -> dict[str, Estimate]:
    """Return each share with its interval.

    Files are drawn with replacement. Where few parts are known, draws hardly differ, so the interval
    is at least that of the parts alone.
    """
    found = _estimated([_by_file(results)], lambda counts, share: share(counts[0]), seed)
    counts = counts_of(results)
    wholes = {"precision": counts.written, "coverage": counts.slots, "restored": counts.slots}
    return {name: _widened(each, wholes[name]) for name, each in found.items()}


def _widened(found: Estimate, number: int) -> Estimate:
    if found.value is None:
        return found
    ends = *wilson_interval(found.value, number), *(found.interval or ())
    return Estimate(value=found.value, interval=(min(ends), max(ends)))


def wilson_interval(share: float, number: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of so many independent parts.

    It stays wide for few parts, also if they all agree: E. B. Wilson, "Probable inference, the law of
    succession, and statistical inference", Journal of the American Statistical Association 22, 1927.
    """
    center = (share + _Z_SQUARED / (2 * number)) / (1 + _Z_SQUARED / number)
    spread = share * (1 - share) / number + _Z_SQUARED / (4 * number**2)
    half = math.sqrt(_Z_SQUARED * spread) / (1 + _Z_SQUARED / number)
    return max(0.0, center - half), min(1.0, center + half)


def differences(
    first: Sequence[SlotResult], other: Sequence[SlotResult], seed: int
) -> dict[str, Estimate]:
    """Return the difference of each share to the first arm. Both arms have the same slots.

    The interval comes from drawing the same files for both.
    """

    def difference(
        counts: Sequence[Counts], share: Callable[[Counts], float | None]
    ) -> float | None:
        before, after = (share(each) for each in counts)
        return None if before is None or after is None else after - before

    return _estimated([_by_file(first), _by_file(other)], difference, seed)


_ByFile = Mapping[str, Counts]


def _by_file(results: Sequence[SlotResult]) -> _ByFile:
    grouped: dict[str, list[SlotResult]] = defaultdict(list)
    for each in results:
        grouped[each.slot.path].append(each)
    return {path: counts_of(each) for path, each in grouped.items()}


def _estimated(
    arms: Sequence[_ByFile],
    measure: Callable[[Sequence[Counts], Callable[[Counts], float | None]], float | None],
    seed: int,
) -> dict[str, Estimate]:
    files = sorted(arms[0])
    whole = [_total(arm, files) for arm in arms]
    drawn: dict[str, list[float]] = {name: [] for name in SHARES}
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    for _ in range(_SAMPLES if len(files) > 1 else 0):
        chosen = chance.choices(files, k=len(files))
        totals = [_total(arm, chosen) for arm in arms]
        for name, share in SHARES.items():
            value = measure(totals, share)
            if value is not None:
                drawn[name].append(value)
    return {
        name: Estimate(value=measure(whole, share), interval=_interval(drawn[name]))
        for name, share in SHARES.items()
    }


def _total(arm: _ByFile, files: Sequence[str]) -> Counts:
    return Counts(*map(sum, zip(*(arm[path] for path in files), strict=True)))


def _interval(values: list[float]) -> tuple[float, float] | None:
    if not values:
        return None
    values.sort()
    last = len(values) - 1
    return values[round(last * _LOWEST)], values[round(last * _HIGHEST)]
