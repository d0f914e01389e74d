"""Garbage collector settings for processes that keep a large part of a project in memory."""

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 50


def tune_gc() -> None:
    """Make garbage collection rare.

    Scanning facts and links is slow, and they contain almost no reference cycles.
    """
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
