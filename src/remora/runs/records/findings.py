"""What was wrong with nodes, by code: what a stream tells of it, what went and what stayed.

A missing or an outdated docstring, and a missing test, are findings like the linter's.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from remora.memory.events import Event

Codes = Mapping[str, int]
MISSING, OUTDATED, UNTESTED = "missing docstring", "outdated docstring", "missing test"
OURS = {MISSING: "docstring added", OUTDATED: "docstring mended", UNTESTED: "test added"}
"""What our own agents know nodes by, and what is told where it went; all else is a linter's code."""
WORTH = ("killed", "mutants", "lines", "all_lines")
"""What the test agent knows of its test: mutants that fail it, of all; lines of the function run."""
_VERBS = {"added": "add", "mended": "mend"}


def known_findings(event: Event) -> dict[str, int] | None:
    """What a tool's result let the packet know of its node's findings; None for other results."""
    return _known_counts(event, "findings")


def known_worth(event: Event) -> dict[str, int] | None:
    """What a tool's result let the packet know of the worth of the test that it wrote."""
    worth = _known_counts(event, "worth")
    return worth if worth is not None and set(worth) == set(WORTH) else None


def _known_counts(event: Event, key: str) -> dict[str, int] | None:
    known = event.packet_delta.update_knowledge if event.packet_delta is not None else None
    counts = known.get(key) if isinstance(known, dict) else None
    if not isinstance(counts, dict) or not all(isinstance(n, int) for n in counts.values()):
        return None
    return counts


def fixed(before: Codes, after: Codes) -> dict[str, int]:
    """Those of `before` that `after` does not have any more."""
    return dict(Counter(before) - Counter(after))


def fixed_and_left(job: Mapping[str, Any]) -> tuple[Codes, Codes] | None:
    """Of a job's document: what its change set fixes, and what stays with or without it.

    Only a verified change set fixes anything. None where nothing is known of findings.
    """
    found = job["findings"]
    if found is None:
        return None
    if job["status"] != "submitted":
        return {}, found["before"]
    return fixed(found["before"], found["after"]), found["after"]


def counts(job: Mapping[str, Any]) -> bool:
    """Whether a job's change set is in the user's files, or may come there with a yes."""
    return job["review"] in ("pending", "accepted")


def codes_text(codes: Codes) -> str:
    """`F401 x2, UP045`."""
    return ", ".join(f"{code} x{n}" if n > 1 else code for code, n in sorted(codes.items()))


def deeds(gone: Codes, *, done: bool = True) -> str:
    """`fixed F401 x2, UP045`, `docstring added`; in the conditional where it is not `done`."""
    linted = {code: n for code, n in gone.items() if code not in OURS}
    told = [("fixed " if done else "would fix ") + codes_text(linted)] if linted else []
    for code, deed in OURS.items():
        if gone.get(code):
            what, how = deed.split(" ")
            told.append(deed if done else f"would {_VERBS[how]} a {what}")
    return ", ".join(told)
