"""Renderings of a packet: pure functions, each with a name and a version."""

from remora.memory.prompt.render import RENDERERS, render
from remora.memory.prompt.rendered import LABELS, Rendered, shown_context

__all__ = ["LABELS", "RENDERERS", "Rendered", "render", "shown_context"]
