"""Renderings of a packet: pure functions, each with a name and a version."""

from remora.memory.prompt.history import HISTORY, HISTORY_TYPES
from remora.memory.prompt.render import RENDERERS, is_known, render
from remora.memory.prompt.rendered import LABELS, Rendered, shown_context

__all__ = [
    "HISTORY",
    "HISTORY_TYPES",
    "LABELS",
    "RENDERERS",
    "Rendered",
    "is_known",
    "render",
    "shown_context",
]
