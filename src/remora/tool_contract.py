"""The keys of the contract for tool results, `{result, summary, knowledge_delta, outcome, …}`."""

from collections.abc import Iterator
from typing import Any

from remora.text import did_you_mean

CARRIED = ("diagnostics", "candidate_actions", "state_summary", "excerpt", "extensions")
_CONTRACT = frozenset({"summary", "knowledge_delta", "outcome"})
STATED = (*_CONTRACT, "error", *CARRIED)


def is_contract(value: Any) -> bool:
    """Return True if a value is a dict of the contract."""
    return isinstance(value, dict) and "result" in value and not _CONTRACT.isdisjoint(value)


def unknown_keys(value: Any) -> Iterator[tuple[Any, str]]:
    """Yield the keys of a dict with `result` that are not in the contract, and what is meant.

    That is ` (did you mean 'x'?)`, or empty. Another program's result may have `outcomes` of its
    own, so only in a dict of the contract can a plural be a misspelled key.
    """
    known = STATED if is_contract(value) else _CONTRACT
    for key in value if isinstance(value, dict) and "result" in value else ():
        if key not in ("result", *STATED):
            text = key[:40] if isinstance(key, str) and key != "_summary" else ""
            is_plural = known is _CONTRACT and text.endswith("s")
            yield key, "" if is_plural else did_you_mean(text, known, strict=True)
