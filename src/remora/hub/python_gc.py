"""Garbage collector settings for processes that hold much of a project."""

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 50


def tune_gc() -> None:
    """Collect rarely: facts and links have next to no cycles, and scanning them costs much time."""
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
