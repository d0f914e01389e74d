"""The versions of the fold and of the trim list that are known here; a stream names its own."""

FOLDS = frozenset({"fold/1"})
TRIMS = frozenset({"trim/1"})


def version_problem(fold: str, trim: str) -> str | None:
    """What stands in the way of a replay, in words; None if both are known.

    A packet folded by other rules than the stream was written with would be a guess.
    """
    if fold not in FOLDS:
        return f"the stream was folded by {fold[:40]!r}, which is not known here"
    if trim not in TRIMS:
        return f"the stream was trimmed by {trim[:40]!r}, which is not known here"
    return None
