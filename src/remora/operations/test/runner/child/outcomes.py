"""Outcomes of the conditions within lines, which an instrumented function reports."""

from __future__ import annotations

import builtins
from typing import Any, List, Set, Tuple

OUTCOME = "__remora_outcome__"


class Outcomes:
    """Records line, condition, number and count of outcomes while it is entered."""

    def __init__(self) -> None:
        self.seen: Set[Tuple[int, int, int, int]] = set()

    def __enter__(self) -> None:
        setattr(builtins, OUTCOME, self.record)

    def __exit__(self, *_: object) -> None:
        delattr(builtins, OUTCOME)

    def record(self, line: int, condition: int, size: int, value: Any, *call: Any) -> Any:
        """Record the truth of a value, or which argument of a call its result is."""
        if not call:
            self.seen.add((line, condition, int(bool(value)), size))
            return value
        function, *arguments = call
        value = function(*arguments)
        number = next((n for n, one in enumerate(arguments) if one is value), 0)
        self.seen.add((line, condition, number, size))
        return value

    def listed(self, call: int) -> List[List[int]]:
        return [[call, *each] for each in sorted(self.seen)]
