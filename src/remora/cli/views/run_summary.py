"""The sentence that ends a run: what was fixed, what needs the user, and what stays.

For example `proposed: 3 of 26 findings fixed in 3 files; 1 finding needs --unsafe-fixes; 22 findings stay: 17 have no
fix, 3 are left as they are, 2 are left open`.
"""

from collections.abc import Mapping, Sequence

from remora.ids import display_name
from remora.operations.base import (
    CONTRADICTS,
    FIX_TAKEN_OUT,
    IN_PART,
    KEPT,
    NEEDS_UNSAFE,
    NEEDS_WRITER,
    NO_FIX,
    NOT_KEPT,
    Operations,
)
from remora.runs.records.totals import OperationTotals, phrases_of, proposed_text
from remora.text import count, some_of

OPEN = "is left open"
"""The reason for findings that are in no whole change, although the plan did not leave them."""
_MOST_REASONS, _NAMED = 8, 3
"""Reasons, and functions, that a line names (decision: contradictions have one reason each)."""
PLURALS = {
    NEEDS_WRITER: "need a person or a model", NEEDS_UNSAFE: "need --unsafe-fixes",
    NO_FIX: "have no fix", KEPT: "are left as they are", OPEN: "are left open",
    IN_PART: "are of changes that are decided in part",
    NOT_KEPT: "have a fix that was not kept", FIX_TAKEN_OUT: "have a fix that was taken out",
}  # fmt: skip
"""Reasons after a number that is not one, such as `5 docstrings need a person or a model`."""


def with_reasons(reasons: Mapping[str, int], unit: str = "") -> str:
    """Return numbers with their reasons, such as `17 have no fix, 1 needs --unsafe-fixes`."""
    texts = [
        f"{count(number, unit) if unit else f'{number:,}'} "
        f"{reason if number == 1 else PLURALS.get(reason, reason)}"
        for reason, number in sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
        if number
    ]
    return ", ".join([*texts[:_MOST_REASONS], *(["..."] if len(texts) > _MOST_REASONS else [])])


def run_sentence(
    sums: Sequence[OperationTotals],
    findings: Mapping[str, int],
    nodes: Mapping[str, Mapping[str, Sequence[str]]],
    operations: Operations,
    files: int,
    *,
    verbose: bool = False,
) -> str:
    """Return the sentence about a run that changed some files.

    `findings` are those that the plan leaves, by reason, and `nodes` are the functions that it
    leaves, or that jobs left to a model, by operation and reason.
    """
    counted = [total for total in sums if total.measures.get("findings")]
    others, wrong = 0, dict[str, int]()
    for left in nodes.values():
        others += sum(len(keys) for why, keys in left.items() if why != NEEDS_WRITER)
        wrong |= {why: len(keys) for why, keys in left.items() if why.startswith(CONTRADICTS)}
    others -= sum(wrong.values())
    units = {operation.name: operation.unit for operation in operations.all}
    done = [
        f"{phrase.brief} ({phrase.more})" if phrase.more else phrase.brief
        for phrase in phrases_of(sums)
    ]
    where = f" in {count(files, 'file')}" if files else ""
    lists, says = ("", "") if verbose else (" (-v lists them)", " (-v says why)")
    unsafe = findings.get(NEEDS_UNSAFE, 0)
    reasons = {reason: number for reason, number in findings.items() if reason != NEEDS_UNSAFE}
    stays = sum(total.remaining for total in counted) - unsafe if counted else sum(reasons.values())
    return "; ".join(
        filter(
            None,
            (
                f"{proposed_text(sums)}{', '.join(done)}{where}",
                with_reasons({NEEDS_UNSAFE: unsafe}, "finding"),
                *(
                    f"{with_reasons({NEEDS_WRITER: len(keys)}, units.get(name) or name)}: "
                    f"{some_of([*map(display_name, keys)], _NAMED)}{lists}"
                    for name, left in nodes.items()
                    if (keys := left.get(NEEDS_WRITER))
                ),
                f"{_stays_text(stays, reasons)}{lists}" if stays > 0 else "",
                with_reasons(wrong, "function"),
                f"{count(others, 'function')} left out{says}" if others else "",
            ),
        )
    )


def _stays_text(number: int, reasons: Mapping[str, int]) -> str:
    """Return how many findings stay and why, such as `3 findings stay: 2 have no fix, …`."""
    known, rest = dict[str, int](), number
    for reason, findings in (*reasons.items(), (OPEN, number)):
        known[reason] = min(findings, rest)
        rest -= known[reason]
    known = {reason: left for reason, left in known.items() if left}
    if len(known) == 1:
        return with_reasons(known, "finding")
    return f"{number:,} findings stay: {with_reasons(known)}"
