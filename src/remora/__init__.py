"""Remora runs lint, docstring and test agents on small local models, with verifiable traces."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.hub.client import HubClient as HubClient
    from remora.memory.context import ContextManager as ContextManager
    from remora.memory.context import PacketBuilder as PacketBuilder
    from remora.memory.delta import PacketDelta as PacketDelta
    from remora.memory.events import EventName as EventName
    from remora.memory.packet import DecisionPacket as DecisionPacket
    from remora.memory.summarizers import Summarizer as Summarizer
    from remora.runs.recording import Recording as Recording
    from remora.trace.read.agent_turns import packet_at as packet_at
    from remora.trace.read.reader import read_events as read_events
    from remora.trace.read.reader import replay as replay
    from remora.usecases.analyze.session import RunResult as RunResult
    from remora.usecases.api import analyze as analyze
    from remora.usecases.api import fork as fork
    from remora.usecases.api import plan as plan
    from remora.usecases.api import render as render
    from remora.usecases.api import report as report
    from remora.usecases.api import resume as resume
    from remora.usecases.api import retry as retry
    from remora.usecases.check.check_files import CheckResult as CheckResult
    from remora.usecases.check.check_files import check as check
    from remora.usecases.record_run import record as record
    from remora.usecases.review.accept_part import accept_edited as accept_edited
    from remora.usecases.review.accept_part import accept_hunks as accept_hunks
    from remora.usecases.review.accept_part import hunks as hunks
    from remora.usecases.review.accept_part import proposed_files as proposed_files
    from remora.usecases.review.revert import revert as revert
    from remora.usecases.review.revert import undo as undo
    from remora.usecases.review.verdicts import accept as accept
    from remora.usecases.review.verdicts import reject as reject

_MODULES = {
    "remora.hub.client": "HubClient",
    "remora.memory.context": "ContextManager PacketBuilder",
    "remora.memory.delta": "PacketDelta",
    "remora.memory.events": "EventName",
    "remora.memory.packet": "DecisionPacket",
    "remora.memory.summarizers": "Summarizer",
    "remora.runs.recording": "Recording",
    "remora.trace.read.agent_turns": "packet_at",
    "remora.trace.read.reader": "read_events replay",
    "remora.usecases.analyze.session": "RunResult",
    "remora.usecases.api": "analyze fork plan render report resume retry",
    "remora.usecases.check.check_files": "CheckResult check",
    "remora.usecases.record_run": "record",
    "remora.usecases.review.accept_part": "accept_edited accept_hunks hunks proposed_files",
    "remora.usecases.review.revert": "revert undo",
    "remora.usecases.review.verdicts": "accept reject",
}
"""Public names by module. They are imported on first use, so `remora --help` loads none of them."""
__all__ = [name for names in _MODULES.values() for name in names.split()]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'remora' has no attribute {name!r}")
