"""How long jobs took in the newest runs, for the estimates of plans.

The rates are in the user's state folder, because projects share a model server.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError

_FILE = "measured_rates.json"
_JOBS, _RUNS, _RATES = 200, 20, 500
"""A rate is removed if newer ones of the same use have so many jobs or runs, or there are so many."""


class RateUse(msgspec.Struct, frozen=True):
    """An operation whose jobs run with a model. `server` is empty without a model server."""

    operation: str
    server: str
    model: str
    engine: str


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """What the jobs of an operation took in a run, as sums over `jobs`.

    A decision is a turn in which a model was asked. `model_seconds` is the time from its questions
    to its answers, `shared_seconds` the time in which one job did work for all of them, and
    `rules_seconds` all other time. `at_once` jobs ran at the same time on average, on all
    `workers`, whose number is 0 if it is unknown.
    """

    use: RateUse
    run_id: str
    jobs: int
    decisions: int
    prompt_tokens: int
    answer_tokens: int
    model_seconds: float
    rules_seconds: float
    shared_seconds: float
    at_once: float
    workers: int


def read_rates(state: Path) -> tuple[Rate, ...]:
    """Return the rates in the user's state folder, oldest first. A damaged file counts as missing."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((state / _FILE).read_bytes(), type=tuple[Rate, ...])
    return ()


def keep_rates(state: Path, found: Sequence[Rate]) -> None:
    """Add rates to the user's state folder, and remove the oldest ones if there are too many.

    If two processes do this at the same time, the rates of one may be lost. Raises DiskError if the
    file cannot be written.
    """
    if not found:
        return
    file, written = state / _FILE, state / f"{_FILE}.{os.getpid()}"
    try:
        make_private(state)
        written.write_bytes(msgspec.json.encode(_newest([*read_rates(state), *found])))
        written.replace(file)
    except OSError as error:
        raise DiskError(f"{file}: {error.strerror}") from error


def rates_of(
    known: Iterable[Rate], operation: str, server: str, model: str | None, engine: str
) -> tuple[Rate, ...]:
    """Return the rates of an operation with a model on an engine.

    Without rates on the engine, those of other engines are returned whose number of workers is
    known. If `model` is None, it is the one that was measured last.
    """
    found = [
        rate
        for rate in known
        if (rate.use.operation, rate.use.server) == (operation, server)
        and (rate.use.engine == engine or rate.workers)
    ]
    found = [rate for rate in found if rate.use.model == (model or found[-1].use.model)]
    there = [rate for rate in found if rate.use.engine == engine]
    return tuple(there or found)


def server_text(address: str | None) -> str:
    """Return the address of a model server without a user name, password and query."""
    parts = urlsplit((address or "").strip())
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}" if host else ""


def _newest(rates: Sequence[Rate]) -> list[Rate]:
    kept: list[Rate] = []
    newer: dict[RateUse, list[int]] = {}
    for rate in reversed(rates):
        jobs = newer.setdefault(rate.use, [])
        if sum(jobs) < _JOBS and len(jobs) < _RUNS and len(kept) < _RATES:
            kept.append(rate)
        jobs.append(rate.jobs)
    return kept[::-1]
