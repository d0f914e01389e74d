"""Summarizers, which create the summary and knowledge that a tool does not return itself."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from remora.memory.canonical import canonical, to_packet_value
from remora.text import clip

ENTRY_LIMIT = 490
"""Maximum characters of a grouped knowledge entry."""
MAX_ENTRIES = 8
MAX_FACTS = 400
"""Maximum number of leaves read from a result. The rest is only in the Long Track."""
FACT_LIMIT = 120
"""Maximum characters of a fact (an identifier, a path, a short message)."""


class Summarizer(ABC):
    """Base class for summarizers, which summarize a tool result and extract facts from it.

    Both methods must be pure and must not raise.
    """

    @abstractmethod
    def summarize(self, raw_result: Any) -> str:
        """Summarize the outcome in one or two sentences. The summary is cut at 200 characters."""

    @abstractmethod
    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Return facts as a mapping of knowledge keys to values."""


class ToolSidePassthrough(Summarizer):
    """Uses the `summary` (or `_summary`) and `knowledge_delta` that the tool returned."""

    def summarize(self, raw_result: Any) -> str:
        """Return the summary that the tool returned, or `Tool completed` if there is none."""
        summary = _first_value(raw_result, "summary", "_summary")
        return summary if isinstance(summary, str) and summary else "Tool completed"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Return the facts that the tool returned."""
        facts = _first_value(raw_result, "knowledge_delta")
        return dict(facts) if isinstance(facts, Mapping) else {}


class LinterSummarizer(Summarizer):
    """Uses the `errors` list and the `fixed` count in a linter's result."""

    def summarize(self, raw_result: Any) -> str:
        """Return a summary such as `Fixed 3 lint errors, 2 remaining` or `Found 2 lint errors`."""
        remaining, fixed = self._counts(raw_result)
        if fixed:
            return f"Fixed {fixed} lint errors, {remaining} remaining"
        return f"Found {remaining} lint errors"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Return the number of remaining errors and the number of fixed errors."""
        remaining, fixed = self._counts(raw_result)
        return {"lint_errors_remaining": remaining, "lint_errors_fixed": fixed}

    @staticmethod
    def _counts(raw_result: Any) -> tuple[int, int]:
        errors, fixed = _first_value(raw_result, "errors"), _first_value(raw_result, "fixed")
        counted = isinstance(fixed, int) and not isinstance(fixed, bool)
        return len(errors) if isinstance(errors, (list, tuple)) else 0, fixed if counted else 0


class DefaultSummarizer(Summarizer):
    """Default for tools without a summarizer.

    The summary is `Executed X`, and the knowledge consists of short facts from structured results.
    The facts are grouped by path, without list indices or duplicates (`path=v1,v2;path=…`), in
    entries of at most 490 characters. Of the formats measured, this one most often keeps the values
    that later calls need as arguments.
    """

    def __init__(self, tool: str) -> None:
        self.tool = tool

    def summarize(self, raw_result: Any) -> str:
        """Return `Executed X`, followed by the number of items if the result is a list."""
        if isinstance(raw_result, (list, tuple)):
            return f"Executed {self.tool}: {len(raw_result)} items"
        return f"Executed {self.tool}"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """Return the grouped facts as entries `X`, `X.2`, …, where `X` is the tool's name.

        Return an empty dict if the result is not structured.
        """
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
    """Yield the path and text of the first `MAX_FACTS` short leaves, in order."""
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
    """Join the groups with `;` into as few entries as possible, in order."""
    entries: list[str] = []
    for path, texts in groups.items():
        for piece in _pieces(path, texts):
            if entries and len(entries[-1]) + 1 + len(piece) <= ENTRY_LIMIT:
                entries[-1] += ";" + piece
            else:
                entries.append(piece)
    return entries


def _pieces(path: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield `path=text,text`.

    If this is too long for one entry, it is split into several parts that each start with the path.
    """
    piece = ""
    for text in texts:
        longer = f"{piece},{text}" if piece else f"{path}={text}"
        if piece and len(longer) > ENTRY_LIMIT:
            yield clip(piece, ENTRY_LIMIT)
            longer = f"{path}={text}"
        piece = longer
    if piece:
        yield clip(piece, ENTRY_LIMIT)
