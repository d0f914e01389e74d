"""Remora: small models maintain real code, and every turn of it can be proved."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.memory.context import ContextManager
    from remora.memory.delta import PacketDelta
    from remora.memory.packet import DecisionPacket
    from remora.memory.projection import replay
    from remora.memory.summarizers import Summarizer

__all__ = ["ContextManager", "DecisionPacket", "PacketDelta", "Summarizer", "replay"]

# Loaded on first use: `remora --help` must not pay for any of them.
_HOMES = {
    "ContextManager": "remora.memory.context",
    "DecisionPacket": "remora.memory.packet",
    "PacketDelta": "remora.memory.delta",
    "Summarizer": "remora.memory.summarizers",
    "replay": "remora.memory.projection",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'remora' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
