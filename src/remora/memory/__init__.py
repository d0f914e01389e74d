"""Two-Track Memory: the records of both tracks, and pure functions that process them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.memory.context import ContextManager
    from remora.memory.delta import PacketDelta
    from remora.memory.packet import DecisionPacket
    from remora.memory.projection import apply, replay
    from remora.memory.summarizers import Summarizer

__all__ = ["ContextManager", "DecisionPacket", "PacketDelta", "Summarizer", "apply", "replay"]

# Loaded on first use: commands that only read streams need no prompts or summarizers.
_MODULES = {
    "ContextManager": "remora.memory.context",
    "DecisionPacket": "remora.memory.packet",
    "PacketDelta": "remora.memory.delta",
    "Summarizer": "remora.memory.summarizers",
    "apply": "remora.memory.projection",
    "replay": "remora.memory.projection",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'remora.memory' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
