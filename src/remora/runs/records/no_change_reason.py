"""The reason why an agent proposes nothing, as stated by its scripts and tools."""

from typing import Any

import msgspec
from msgspec import UNSET

from remora.agents.builtin_tools import NEEDS_MODEL, SUBMIT
from remora.memory.events import Event, ToolCalled
from remora.operations.base import Codes, is_lint_code
from remora.statuses import FAILED, NO_CHANGE
from remora.trace.read.reader import decode_part


class _Call(msgspec.Struct):
    tool: str = ""
    choice: int | None = None
    decided_by: str = ""
    args: dict[str, Any] = {}


class NoChangeReason:
    """Collects the state of an agent before its submission, to find the reason for `no_change`."""

    def __init__(self) -> None:
        self._offered = ""
        self._state = ""
        self._found = ""
        self._step = ""
        self._call = _Call()

    def add(self, event: Event) -> None:
        """Update the state from an event."""
        delta = event.packet_delta
        if event.type == ToolCalled.type:
            self._call = decode_part(event, _Call)
        if delta is None:
            return
        if delta.candidate_actions is not UNSET:
            reasons = (action.reason for action in delta.candidate_actions if action.tool == SUBMIT)
            self._offered = next(reasons, "")
        if delta.state_summary is not UNSET:
            self._state = delta.state_summary
        if delta.add_action is not UNSET and delta.add_action.tool != SUBMIT:
            self._found = delta.add_action.summary
            self._step = f"{delta.add_action.tool}: {delta.add_action.summary}"

    def why(self, status: str, left: Codes | None) -> str | None:
        """Return why a job changed nothing, or the last tool of a failed job and its summary."""
        if status == FAILED:
            return self._step or None
        return self.text(left) if status == NO_CHANGE else None

    def text(self, left: Codes | None) -> str | None:
        """Return the reason, or None if there is none.

        `left` contains the remaining findings. If all of them are lint findings, the tool's summary
        is used instead of the candidate's reason, because the summary is more detailed.
        """
        call, is_submission = self._call, self._call.tool == SUBMIT
        said = str(call.args.get("summary") or "") if is_submission else ""
        if said == NEEDS_MODEL and call.choice is None:  # rules could not decide
            return NEEDS_MODEL
        if is_submission and call.decided_by == "fallback":
            return "the model made no valid call"
        linted = left and all(map(is_lint_code, left))
        return self._state or (self._found if linted else said or self._offered) or None
