"""Counts of fixed and remaining findings, as recorded in streams.

The fixes of `missing THING` and `outdated THING` are displayed as `THING added` and `THING
updated`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from remora.memory.events import Event
from remora.operations.base import NEEDS_UNSAFE, NO_FIX, NOT_KEPT, Codes, is_lint_code
from remora.statuses import ACCEPTED, DONE, PENDING, VERIFIED
from remora.text import count
from remora.trace.read.reader import decode_part
from remora.workspaces.copy.changes import hunks_text

_SHOWN_CODES = 7
"""Codes that a line names (decision: more do not fit)."""
_TEXT = re.compile(r"([A-Z]+[0-9]+) line ([0-9]+): (.*)", re.DOTALL)
"""Format of the built-in lint agent's diagnostics."""
_TESTS = {"missing test": "tests", "weak test": "further tests"}
"""Codes that count functions, each of which may get several tests."""
_FIX = ("fixed", "fixes", "would fix")
"""What an accepted change set did, a pending one does, and another one would do."""
_ADD = ("added", "adds", "would add")
_VERBS = {"missing": _ADD, "outdated": ("updated", "updates", "would update")}


def known_findings(event: Event) -> dict[str, int] | None:
    """Return the node's findings from the packet delta of a tool result.

    Where the packet has no space for the counts of many rules, the findings that the result lists
    are counted. Returns None for other events.
    """
    delta = event.packet_delta
    if delta is not None and isinstance((delta.update_knowledge or {}).get("findings"), str):
        listed = listed_findings(event)
        return dict(Counter(finding.code for finding in listed)) if listed is not None else None
    return _known_counts(event, "findings")


def known_measurements(event: Event) -> dict[str, int] | None:
    """Return the other numbers that a tool result reports, e.g. how many faults a test detects.

    Returns None for other events.
    """
    return _known_counts(event, "worth")


def wrong_examples(event: Event) -> list[str]:
    """Return the examples of docstrings that contradict the code, as a tool result reports them."""
    known = event.packet_delta.update_knowledge if event.packet_delta is not None else None
    return [*map(str, known.get("wrong examples", ()))] if isinstance(known, dict) else []


def _known_counts(event: Event, key: str) -> dict[str, int] | None:
    known = event.packet_delta.update_knowledge if event.packet_delta is not None else None
    counts = known.get(key) if isinstance(known, dict) else None
    if not isinstance(counts, dict) or not all(isinstance(n, int) for n in counts.values()):
        return None
    return counts


class ListedFinding(msgspec.Struct, frozen=True):
    """A finding that a tool listed."""

    code: str
    message: str
    line: int | None = None
    """The line, from 1, or null if it is unknown."""
    kept: str = ""
    """The same as in the list of `file_findings`."""
    fix_kind: str = ""
    """The same as in the list of `file_findings`."""

    @property
    def reason(self) -> str:
        """Why the finding is left if it is, or an empty string if the tool does not say it."""
        known = {"": "", "none": NO_FIX, "unsafe": NEEDS_UNSAFE}
        return self.kept or known.get(self.fix_kind, NOT_KEPT)


def codes_left(findings: Iterable[ListedFinding]) -> dict[str, dict[str, int]]:
    """Return the number of findings that are left, by reason and code."""
    codes: dict[str, dict[str, int]] = {}
    for finding in findings:
        if finding.reason:
            numbers = codes.setdefault(finding.reason, {})
            numbers[finding.code] = numbers.get(finding.code, 0) + 1
    return codes


def left_texts(left: Mapping[str, Codes]) -> tuple[str, ...]:
    """Return the findings that are left by reason, such as `E711 x2: needs --unsafe-fixes`."""
    return tuple(f"{most_codes_text(codes)}: {reason}" for reason, codes in left.items())


class _Listing(msgspec.Struct):
    findings: tuple[ListedFinding, ...]


class _Output(msgspec.Struct):
    parsed_output: msgspec.Raw = msgspec.Raw(b"null")
    value: msgspec.Raw = msgspec.Raw(b"null")
    source: str = ""


def listed_findings(event: Event) -> tuple[ListedFinding, ...] | None:
    """Return all findings that the result of a tool or of a context script lists.

    These are the entries of its `findings`. Returns None for other results and events.
    """
    output = decode_part(event, _Output)
    listing = bytes(output.value if output.source == "context" else output.parsed_output)
    if b'"findings":' in listing:
        with suppress(msgspec.ValidationError):
            return msgspec.json.decode(listing, type=_Listing).findings
    return None


def findings_in_texts(texts: Iterable[Any]) -> tuple[ListedFinding, ...]:
    """Return the findings in diagnostics such as `F401 line 3: ...`. Other texts have no code."""
    shapes = [(str(text), _TEXT.fullmatch(str(text))) for text in texts]
    return tuple(
        ListedFinding(shape[1], shape[3], int(shape[2])) if shape else ListedFinding("", text)
        for text, shape in shapes
    )


def fixed(before: Codes, after: Codes) -> dict[str, int]:
    """Return the findings in `before` that are not in `after`."""
    return dict(Counter(before) - Counter(after))


def fixed_and_left(job: Mapping[str, Any]) -> tuple[Codes, Codes] | None:
    """Return a job's fixed findings and remaining findings, or None if they are unknown.

    Findings count as fixed only if the change set was verified.
    """
    found = job["findings"]
    if found is None:
        return None
    if job["status"] != VERIFIED:
        return {}, found["before"]
    return fixed(found["before"], found["after"]), found["after"]


def counts_as_done(job: Mapping[str, Any]) -> bool:
    """Return True if a job's change set is accepted or pending."""
    return job["review"] in DONE


def fixes_count(job: Mapping[str, Any]) -> bool:
    """Return True if all that a job proposed is pending or accepted, without edits."""
    return counts_as_done(job) and job.get("whole", True)


def written_text(written: Mapping[str, Any]) -> str:
    """Describe what was accepted instead of a whole change set, e.g. `2 of 3 hunks`."""
    if written["edited"]:
        return "edited"
    return f"{len(written['hunks'])} of {count(written['of'], 'hunk')}"


def codes_text(codes: Codes) -> str:
    """Format counts of codes, e.g. `F401 x2, UP045` or `2 missing annotations`."""
    return ", ".join(_code_text(code, number) for code, number in sorted(codes.items()))


def _code_text(code: str, number: int) -> str:
    if code == "weak test":
        return f"{count(number, 'function')} to test further"
    if not is_lint_code(code):
        return count(number, code)
    return f"{code} x{number}" if number > 1 else code


def most_codes_text(codes: Codes) -> str:
    """Format counts of codes like `codes_text`, with only the most frequent of many codes."""
    if len(codes) <= _SHOWN_CODES:
        return codes_text(codes)
    often = sorted(codes, key=lambda code: (-codes[code], code))[: _SHOWN_CODES - 1]
    shown = ", ".join(_code_text(code, codes[code]) for code in often)
    others = sum(codes.values()) - sum(codes[code] for code in often)
    return f"{shown} and {count(others, 'finding')} of {len(codes) - len(often)} other rules"


def fixes_text(fixed_codes: Codes, review: str = PENDING) -> str:
    """Describe what a change set fixes, such as `fixes F401 x2, UP045` or `adds a docstring`.

    If it is accepted, the description is `fixed F401 x2`, and if it is not wanted or cannot be
    written, `would fix F401 x2`.
    """
    linted = {code: n for code, n in fixed_codes.items() if is_lint_code(code)}
    form = _form(review)
    parts = [f"{_FIX[form]} {most_codes_text(linted)}"] if linted else []
    others = ((code, n) for code, n in fixed_codes.items() if n and not is_lint_code(code))
    parts += [_change_text(code, n, form) for code, n in others]
    return ", ".join(parts)


def _form(review: str) -> int:
    return 0 if review == ACCEPTED else 1 if review == PENDING else 2


def done_text(fixed: Codes, left: Codes, review: str = PENDING) -> str:
    """Return fixed and remaining findings, such as `fixes F401 x2, UP045; left E501`."""
    parts = [fixes_text(fixed, review), f"left {most_codes_text(left)}" if left else ""]
    return "; ".join(filter(None, parts))


def work_text(job: Mapping[str, Any], *, left: bool = True) -> str:
    """Return what a job did, would do, or which part of it was accepted and which is pending."""
    fixed, rest = fixed_and_left(job) or ({}, {})
    work = done_text(fixed, rest if left else {}, job["review"])
    if job.get("written"):
        work = f"accepted: {written_text(job['written'])}"
    if job.get("rest"):
        work += f" · pending: {hunks_text(job['rest'])}"
        work += "" if job["whole"] else "; others are rejected or reverted"
    if job.get("present"):
        work += f" · {count(len(job['present']), 'hunk')} of it was in your files before"
    return work


def _change_text(code: str, number: int, form: int) -> str:
    if code in _TESTS:
        return f"{_ADD[form]} {_TESTS[code]} for {count(number, 'function')}"
    state, _, thing = code.partition(" ")
    verb = _VERBS.get(state, _FIX)[form]
    what = thing if number == 1 else count(number, thing)
    article = "" if number > 1 else "an " if thing[0] in "aeiou" else "a "
    return f"{verb} {article}{what}" if form else f"{what} {verb}"
