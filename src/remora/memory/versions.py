"""Supported versions of the fold and the trim list; each stream names its own."""

FOLDS = frozenset({"fold/1"})
TRIMS = frozenset({"trim/1"})


def version_problem(fold: str, trim: str) -> str | None:
    """Return why a stream cannot be replayed, or None if both versions are supported."""
    if fold not in FOLDS:
        return f"the stream needs {fold[:40]!r}, which is not supported"
    if trim not in TRIMS:
        return f"the stream needs {trim[:40]!r}, which is not supported"
    return None
