"""Docstrings: what one should say, in which style, and the one edit that writes or mends it."""

from remora.code.docstrings.need import needs_docstring
from remora.code.docstrings.record import STYLES, Manner, Parsed, Skeleton, Style, Texts
from remora.code.docstrings.skeleton import skeleton
from remora.code.docstrings.style import Habits, manner
from remora.code.docstrings.tree import without_docstring_of
from remora.code.docstrings.write import Found, find, unsaid, write

__all__ = [
    "STYLES",
    "Found",
    "Habits",
    "Manner",
    "Parsed",
    "Skeleton",
    "Style",
    "Texts",
    "find",
    "manner",
    "needs_docstring",
    "skeleton",
    "unsaid",
    "without_docstring_of",
    "write",
]
