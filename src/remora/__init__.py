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
    from remora.usecases.analyze.session import RunResult
    from remora.usecases.api import (
        analyze,
        fork,
        messages,
        plan,
        render,
        report,
        resume,
        retry,
    )
    from remora.usecases.check.check_files import CheckResult, check
    from remora.usecases.record_run import record
    from remora.usecases.review.verdicts import (
        accept,
        accept_edited,
        accept_hunks,
        hunks,
        proposed_files,
        reject,
        revert,
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
    "RunResult": "remora.usecases.analyze.session",
    "Summarizer": "remora.memory.summarizers",
    "accept": "remora.usecases.review.verdicts",
    "accept_edited": "remora.usecases.review.verdicts",
    "accept_hunks": "remora.usecases.review.verdicts",
    "check": "remora.usecases.check.check_files",
    "hunks": "remora.usecases.review.verdicts",
    "proposed_files": "remora.usecases.review.verdicts",
    "packet_at": "remora.trace.read.agent_turns",
    "read_events": "remora.trace.read.reader",
    "record": "remora.usecases.record_run",
    "reject": "remora.usecases.review.verdicts",
    "replay": "remora.trace.read.reader",
    "revert": "remora.usecases.review.verdicts",
    "undo": "remora.usecases.review.verdicts",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'remora' has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, _API)), name)
