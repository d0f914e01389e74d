"""Remora runs lint, docstring and test agents on small local models, with verifiable traces."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.hub.client import HubClient
    from remora.memory.context import ContextManager
    from remora.memory.context import ContextManager as PacketBuilder
    from remora.memory.delta import PacketDelta
    from remora.memory.events import EventName
    from remora.memory.packet import DecisionPacket
    from remora.memory.summarizers import Summarizer
    from remora.runs.recording import Recording
    from remora.trace.read.agent_turns import packet_at
    from remora.trace.read.reader import read_events, replay
    from remora.usecases.analyze.run_result import RunResult
    from remora.usecases.api import (
        accept,
        analyze,
        fork,
        messages,
        plan,
        reject,
        render,
        report,
        resume,
        retry,
        revert,
    )
    from remora.usecases.check.check_files import CheckResult, check
    from remora.usecases.record_run import record
    from remora.usecases.review.review_parts import (
        accept_edited,
        accept_hunks,
        hunks,
        proposed_files,
        undo,
    )

__all__ = [
    "CheckResult",
    "ContextManager",
    "DecisionPacket",
    "EventName",
    "HubClient",
    "PacketBuilder",
    "PacketDelta",
    "Recording",
    "RunResult",
    "Summarizer",
    "accept",
    "accept_edited",
    "accept_hunks",
    "analyze",
    "check",
    "fork",
    "hunks",
    "messages",
    "packet_at",
    "plan",
    "proposed_files",
    "read_events",
    "record",
    "reject",
    "render",
    "replay",
    "report",
    "resume",
    "retry",
    "revert",
    "undo",
]

# Imported on first use, so that `remora --help` loads none of them. The others are in `_API`.
_API = "remora.usecases.api"
_MODULES = {
    "CheckResult": "remora.usecases.check.check_files",
    "ContextManager": "remora.memory.context",
    "DecisionPacket": "remora.memory.packet",
    "EventName": "remora.memory.events",
    "HubClient": "remora.hub.client",
    "PacketBuilder": "remora.memory.context",
    "PacketDelta": "remora.memory.delta",
    "Recording": "remora.runs.recording",
    "RunResult": "remora.usecases.analyze.run_result",
    "Summarizer": "remora.memory.summarizers",
    "accept_edited": "remora.usecases.review.review_parts",
    "accept_hunks": "remora.usecases.review.review_parts",
    "check": "remora.usecases.check.check_files",
    "hunks": "remora.usecases.review.review_parts",
    "proposed_files": "remora.usecases.review.review_parts",
    "packet_at": "remora.trace.read.agent_turns",
    "read_events": "remora.trace.read.reader",
    "record": "remora.usecases.record_run",
    "replay": "remora.trace.read.reader",
    "undo": "remora.usecases.review.review_parts",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'remora' has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, _API)), name)
