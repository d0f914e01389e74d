"""Garbage collector settings for processes that keep much of a project in memory."""

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 50


def tune_gc() -> None:
    """Collect rarely: facts and links have almost no cycles, and scanning them is slow."""
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
