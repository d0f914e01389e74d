"""Garbage collector settings for processes that keep much of a project in memory."""

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 50


def tune_gc() -> None:
    """Make garbage collection rare. Facts and links have almost no cycles to find.

    Scanning them is slow.
    """
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
