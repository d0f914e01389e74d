"""Phrases for the numbers of an evaluation, for the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from remora.evals.arm_results import OUTCOMES
from remora.evals.scores import SHARES
from remora.text import count

_SHOWN = {"people": ("precision", "coverage"), "checks": ("verified",)}


def heading(found: Mapping[str, Any]) -> str:
    """Return what was chosen, such as `lint: 4 of 9 parts hidden in 2 files`."""
    name = found["operation"]
    is_hidden = found["basis"] == "people"
    if not found["targets"]:
        return f"{name}: nothing to {'hide' if is_hidden else 'do'}"
    noun, verb = ("part", "hidden") if is_hidden else ("job", "chosen")
    text = f"{name}: {found['targets']:,} of {count(found['found'], noun)} {verb} in "
    return f"{text}{count(found['files'], 'file')}"


def head(found: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of the columns of `row`."""
    shares = ["SHARE"] if found["basis"] == "checks" else map(str.upper, _SHOWN[found["basis"]])
    return ["ARM", *map(str.upper, OUTCOMES[found["basis"]]), *shares, "SECONDS"]


def row(found: Mapping[str, Any], arm: Mapping[str, Any]) -> Sequence[object]:
    shares = (share(arm, name) for name in _SHOWN[found["basis"]])
    return [arm["name"], *arm["outcomes"].values(), *shares, round(arm["seconds"])]


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


def details(found: Mapping[str, Any], arm: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an arm's model did, and how it differs from the first."""
    name = arm["name"]
    if arm["error"]:
        return
    if arm["requests"]:
        jobs = count(sum(arm["jobs"].values()), "job")
        decisions = (f"{key} {number:,}" for key, number in arm["decisions"].items() if number)
        yield (
            f"{name}: {jobs}, {count(arm['turns'], 'turn')}, {count(arm['requests'], 'request')}, "
            f"{count(arm['tokens'], 'token')}; "
            f"decisions: {', '.join(decisions)}; {arm['invalid']} invalid, {arm['refused']} refused"
        )
    if arm["against_first"]:
        shares = SHARES[found["basis"]]
        parts = (f"{key} {share(arm['against_first'], key, '+')}" for key in shares)
        yield f"{name} against the first arm: {', '.join(parts)}"


def failures(operations: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the errors of each arm, each with the operations in which it occurred."""
    met: dict[str, list[str]] = {}
    for operation in operations:
        for arm in operation["arms"]:
            if arm["error"]:
                met.setdefault(f"{arm['name']}: {arm['error']}", []).append(operation["operation"])
            for error, number in arm["job_errors"].items():
                place = f"{operation['operation']}: {count(number, 'job')}"
                met.setdefault(f"{arm['name']}: {error}", []).append(place)
    yield from (f"{error} ({', '.join(places)})" for error, places in met.items())
