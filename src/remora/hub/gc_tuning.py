"""Garbage collector settings for processes that hold much of a project."""

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 50


def tune_gc() -> None:
    """Collect rarely in this process: facts and links have next to no cycles.

    Scanning them repeatedly takes as long as computing them.
    """
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
