"""What the patterns of a `match` bind."""

import ast
from collections.abc import Iterator


def captures(pattern: ast.pattern) -> Iterator[tuple[str | None, ast.expr | None]]:
    """Each name with the class its value must have; null for the subject itself, or no class."""
    waiting: list[tuple[ast.pattern, bool]] = [(pattern, True)]
    while waiting:
        found, whole = waiting.pop()
        name: str | None = getattr(found, "name", None) or getattr(found, "rest", None)
        inner = getattr(found, "pattern", None)
        kind = found.cls if isinstance(found, ast.MatchClass) else None
        if isinstance(inner, ast.MatchClass):
            kind = inner.cls
        if name is not None or (whole and kind is not None and inner is None):
            yield name, kind
        parts = [*getattr(found, "patterns", ()), *getattr(found, "kwd_patterns", ())]
        waiting.extend((part, False) for part in parts)
        if inner is not None:
            waiting.append((inner, whole))
