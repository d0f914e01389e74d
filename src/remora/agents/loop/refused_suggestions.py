"""How often tools refused each suggestion, so that none is made without end."""

from collections import Counter
from collections.abc import Sequence

from remora.memory.canonical import canonical
from remora.memory.packet import Candidate

MAX_ATTEMPTS = 3
"""Times that a suggestion may be refused before it is no longer made. Decision: to be measured."""


class RefusedSuggestions:
    """Counts the refusals of each suggestion, whatever its reason says."""

    def __init__(self) -> None:
        self._times: Counter[bytes] = Counter()

    def add(self, offered: Sequence[Candidate], choice: int | None) -> None:
        """Count a refused call that followed the suggestion at `choice`, if there was one."""
        if choice is not None and choice in range(len(offered)):
            self._times[_key(offered[choice])] += 1

    def may_try(self, candidate: Candidate) -> bool:
        """Return True if a suggestion has not been refused too often."""
        return self._times[_key(candidate)] < MAX_ATTEMPTS


def _key(candidate: Candidate) -> bytes:
    return canonical([candidate.tool, candidate.args])
