"""Tool output to summary and knowledge, for tools that do not say it themselves."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from remora.memory.canonical import canonical, to_packet_value
from remora.memory.packet import clip

ENTRY_LIMIT = 490
"""Characters of one grouped knowledge entry."""
MAX_ENTRIES = 8
MAX_FACTS = 400
"""Leaves of a result that are looked at; the rest stays in the Long Track."""
FACT_LIMIT = 120
"""Characters of a text that still counts as a fact (an identifier, a path, a short message)."""


class Summarizer(ABC):
    """Says in a sentence what a result came to, and which facts of it are worth keeping.

    Both methods are pure and total: they take whatever a tool returned.
    """

    @abstractmethod
    def summarize(self, raw_result: Any) -> str:
        """One or two sentences on the outcome, at most 200 characters (longer is cut)."""

    @abstractmethod
    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Facts by key."""


class ToolSidePassthrough(Summarizer):
    """Takes what the tool says of itself: `summary` (or `_summary`) and `knowledge_delta`."""

    def summarize(self, raw_result: Any) -> str:
        """The tool's own words, else that it completed."""
        said = _first_value(raw_result, "summary", "_summary")
        return said if isinstance(said, str) and said else "Tool completed"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """The tool's own facts."""
        said = _first_value(raw_result, "knowledge_delta")
        return dict(said) if isinstance(said, Mapping) else {}


class LinterSummarizer(Summarizer):
    """Counts `errors` (a list) and `fixed` (a number) of a linter's result."""

    def summarize(self, raw_result: Any) -> str:
        """`Fixed 3 lint errors, 2 remaining`, or `Found 2 lint errors`."""
        remaining, fixed = self._counts(raw_result)
        if fixed:
            return f"Fixed {fixed} lint errors, {remaining} remaining"
        return f"Found {remaining} lint errors"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Both counts."""
        remaining, fixed = self._counts(raw_result)
        return {"lint_errors_remaining": remaining, "lint_errors_fixed": fixed}

    @staticmethod
    def _counts(raw_result: Any) -> tuple[int, int]:
        errors, fixed = _first_value(raw_result, "errors"), _first_value(raw_result, "fixed")
        counted = isinstance(fixed, int) and not isinstance(fixed, bool)
        return len(errors) if isinstance(errors, (list, tuple)) else 0, fixed if counted else 0


class DefaultSummarizer(Summarizer):
    """For tools nobody knows: `Executed X`, and the short facts of a structured result.

    Facts are grouped by their path without list indices and repeats, `path=v1,v2;path=…`, in
    entries of at most 490 characters: of the shapes measured the one that keeps the most
    arguments of later calls within a packet.
    """

    def __init__(self, tool: str) -> None:
        self.tool = tool

    def summarize(self, raw_result: Any) -> str:
        """`Executed X`, with the size of what came back where that says something."""
        if isinstance(raw_result, (list, tuple)):
            return f"Executed {self.tool}: {len(raw_result)} items"
        return f"Executed {self.tool}"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Entries `X`, `X.2`, …: grouped facts; nothing for a result without structure."""
        if not isinstance(raw_result, (Mapping, list, tuple)):
            return {}
        groups: dict[str, dict[str, None]] = {}
        for path, text in _facts(to_packet_value(raw_result)):
            groups.setdefault(path, {})[text] = None
        entries = _entries(groups)
        names = [self.tool, *(f"{self.tool}.{n}" for n in range(2, MAX_ENTRIES + 1))]
        return dict(zip(names, entries, strict=False))


def _first_value(raw_result: Any, *keys: str) -> Any:
    if not isinstance(raw_result, Mapping):
        return None
    return next((raw_result[key] for key in keys if key in raw_result), None)


def _facts(value: Any) -> Iterator[tuple[str, str]]:
    """Path and text of each short leaf, in order; at most `MAX_FACTS`."""
    stack: list[tuple[str, Any]] = [("", value)]
    found = 0
    while stack and found < MAX_FACTS:
        path, item = stack.pop()
        if isinstance(item, dict):
            inner = [(f"{path}.{key}" if path else str(key), v) for key, v in item.items()]
            stack.extend(reversed(inner))
        elif isinstance(item, list):
            stack.extend((path, v) for v in reversed(item))
        elif item is not None and len(text := _leaf(item)) <= FACT_LIMIT:
            found += 1
            yield path or "value", text


def _leaf(item: Any) -> str:
    return " ".join(item.split()) if isinstance(item, str) else canonical(item).decode()


def _entries(groups: Mapping[str, Iterable[str]]) -> list[str]:
    """The groups joined by `;` into as few entries as their size allows, in order."""
    entries: list[str] = []
    for path, texts in groups.items():
        for piece in _pieces(path, texts):
            if entries and len(entries[-1]) + 1 + len(piece) <= ENTRY_LIMIT:
                entries[-1] += ";" + piece
            else:
                entries.append(piece)
    return entries


def _pieces(path: str, texts: Iterable[str]) -> Iterator[str]:
    """`path=text,text`, cut between texts where it is longer than an entry, each with its path."""
    piece = ""
    for text in texts:
        longer = f"{piece},{text}" if piece else f"{path}={text}"
        if piece and len(longer) > ENTRY_LIMIT:
            yield clip(piece, ENTRY_LIMIT)
            longer = f"{path}={text}"
        piece = longer
    if piece:
        yield clip(piece, ENTRY_LIMIT)
