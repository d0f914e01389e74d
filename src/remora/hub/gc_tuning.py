"""Garbage collector settings for processes that hold much of a project."""

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 50


def tune_gc() -> None:
    """For this process from now on. What is known of files and found of links holds next to no cycles,
    and looking through all of it again and again takes as long as making it."""
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
