"""The expected decisions, tokens and duration of a plan."""

from collections.abc import Iterable

import msgspec


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What the jobs of a plan are expected to need.

    Decisions and tokens are None if they are unknown, and so are the seconds. `unmeasured` has the
    operations that ask a model and were not measured with it. `measured_jobs` is the number of jobs
    on which the estimate is based, and `workers` the number of workers that it expects, or None for
    jobs in this process.
    """

    decisions: int | None = 0
    prompt_tokens: int | None = 0
    answer_tokens: int | None = 0
    seconds: float | None = 0.0
    measured_jobs: int = 0
    unmeasured: tuple[str, ...] = ()
    workers: int | None = None


def add_estimates(parts: Iterable[Estimate]) -> Estimate:
    """Return the sums of several estimates. A sum is None if one of its parts is."""
    parts = tuple(parts)
    seconds = [part.seconds for part in parts]
    known = [each for each in seconds if each is not None]
    return Estimate(
        decisions=_sum(part.decisions for part in parts),
        prompt_tokens=_sum(part.prompt_tokens for part in parts),
        answer_tokens=_sum(part.answer_tokens for part in parts),
        seconds=round(sum(known), 1) if len(known) == len(seconds) else None,
        measured_jobs=max((part.measured_jobs for part in parts), default=0),
        unmeasured=tuple(sorted({name for part in parts for name in part.unmeasured})),
        workers=next((part.workers for part in parts if part.workers is not None), None),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    found = tuple(numbers)
    known = [each for each in found if each is not None]
    return sum(known) if len(known) == len(found) else None
