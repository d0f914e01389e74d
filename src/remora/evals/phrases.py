"""Phrases for the numbers of an evaluation, for the terminal and for pages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from remora.text import count

HEAD = (
    *("ARM", "EXACT", "EQUIVALENT", "DIFFERENT", "LEFT"),
    *("PRECISION", "COVERAGE", "TOKENS", "SECONDS"),
)


def heading(found: Mapping[str, Any]) -> str:
    """Return what was hidden from an operation, such as `lint: 4 of 9 parts hidden in 2 files`."""
    if not found["slots"]:
        return f"{found['operation']}: nothing to hide"
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in found["hidden"].items())
    return (
        f"{found['operation']}: {found['slots']:,} of {count(found['found'], 'part')} hidden "
        f"in {count(found['files'], 'file')} ({kinds})"
    )


def row(arm: Mapping[str, Any]) -> Sequence[object]:
    """Return the cells of an arm, in the order of HEAD."""
    outcomes = (arm[name] for name in ("exact", "equivalent", "different", "left"))
    shares = (share(arm, name) for name in ("precision", "coverage"))
    return [arm["name"], *outcomes, *shares, arm["tokens"], round(arm["seconds"])]


def share(found: Mapping[str, Any], name: str, sign: str = "") -> str:
    """Return a share with its interval, such as `91 % (88 to 95)`, or `-` if it is not known.

    A difference without any variation has no interval: so few files do not show how far it varies.
    """
    value, interval = found[name], found[f"{name}_ci95"]
    if value is None:
        return "-"
    ends = ""
    if interval:
        low, high = (f"{end * 100:{sign}.0f}" for end in interval)
        ends = f" ({low} to {high})" if interval[0] < interval[1] else " (the same in each file)"
    return f"{value * 100:{sign}.0f} %{ends}"


def details(arm: Mapping[str, Any]) -> Iterator[str]:
    """Yield an arm's error, its numbers by kind and by source, and how it differs from the first."""
    name = arm["name"]
    if arm["error"]:
        yield f"{name}: {arm['error']}"
        return
    for error, number in arm["job_errors"].items():
        yield f"{name}: {count(number, 'job')} ended with: {error}"
    kinds = arm["by_kind"]
    if len(kinds) > 1:
        parts = (f"{kind}: {_written(outcomes)}" for kind, outcomes in kinds.items())
        yield f"{name}, by kind: {'; '.join(parts)}"
    if arm["by_source"]:
        sources = arm["by_source"].items()
        parts = (f"{key}: {n['written']} written, {n['right']} right" for key, n in sources)
        yield f"{name}, by source: {'; '.join(parts)}"
    if arm["requests"]:
        parts = (f"{key} {number:,}" for key, number in arm["decided_by"].items() if number)
        yield f"{name}: {count(arm['requests'], 'request')}, decisions: {', '.join(parts)}"
    if arm["against_first"]:
        names = ("precision", "coverage", "restored")
        parts = (f"{key} {share(arm['against_first'], key, '+')}" for key in names)
        yield f"{name} against the first arm: {', '.join(parts)}"


def _written(outcomes: Mapping[str, int]) -> str:
    """Return what became of the hidden parts of a kind, such as `3 of 7 written, 2 right`."""
    right = outcomes["exact"] + outcomes["equivalent"]
    written = right + outcomes["different"]
    number = f"{written} of {sum(outcomes.values())} written"
    return f"{number}, {right} right" if written else number
