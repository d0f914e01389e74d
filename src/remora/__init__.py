"""Remora runs lint, docstring and test agents on small local models, with verifiable traces."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.bootstrap.api import (
        RunResult,
        accept,
        analyze,
        fork,
        plan,
        reject,
        render,
        report,
        resume,
        retry,
        revert,
    )
    from remora.bootstrap.check.check_files import CheckResult, check
    from remora.bootstrap.record_run import record
    from remora.bootstrap.review.review_parts import (
        accept_edited,
        accept_hunks,
        hunks,
        proposed_files,
        undo,
    )
    from remora.hub.client import HubClient
    from remora.memory.context import ContextManager
    from remora.memory.delta import PacketDelta
    from remora.memory.packet import DecisionPacket
    from remora.memory.projection import replay
    from remora.memory.summarizers import Summarizer
    from remora.runs.recording import Recording

__all__ = [
    "CheckResult",
    "ContextManager",
    "DecisionPacket",
    "HubClient",
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
    "plan",
    "proposed_files",
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

# Imported on first use, so that `remora --help` loads none of them.
_MODULES = {
    "CheckResult": "remora.bootstrap.check.check_files",
    "ContextManager": "remora.memory.context",
    "DecisionPacket": "remora.memory.packet",
    "HubClient": "remora.hub.client",
    "PacketDelta": "remora.memory.delta",
    "Recording": "remora.runs.recording",
    "RunResult": "remora.bootstrap.api",
    "Summarizer": "remora.memory.summarizers",
    "accept": "remora.bootstrap.api",
    "accept_edited": "remora.bootstrap.review.review_parts",
    "accept_hunks": "remora.bootstrap.review.review_parts",
    "analyze": "remora.bootstrap.api",
    "check": "remora.bootstrap.check.check_files",
    "fork": "remora.bootstrap.api",
    "hunks": "remora.bootstrap.review.review_parts",
    "plan": "remora.bootstrap.api",
    "proposed_files": "remora.bootstrap.review.review_parts",
    "record": "remora.bootstrap.record_run",
    "reject": "remora.bootstrap.api",
    "render": "remora.bootstrap.api",
    "replay": "remora.memory.projection",
    "report": "remora.bootstrap.api",
    "resume": "remora.bootstrap.api",
    "retry": "remora.bootstrap.api",
    "revert": "remora.bootstrap.api",
    "undo": "remora.bootstrap.review.review_parts",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'remora' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
