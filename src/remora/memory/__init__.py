"""Two-Track Memory: the records of both tracks and the pure functions between them."""

from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply, replay
from remora.memory.summarizers import Summarizer

__all__ = ["ContextManager", "DecisionPacket", "PacketDelta", "Summarizer", "apply", "replay"]
