"""Reasons for `no_change`, from the agent's scripts."""

from msgspec import UNSET

from remora.agents.builtin_tools import SUBMIT
from remora.memory.events import Event
from remora.runs.records.findings import Codes, is_lint_code


class NoChangeReason:
    def __init__(self) -> None:
        self._offered = ""
        self._state = ""
        self._found = ""

    def add(self, event: Event) -> None:
        delta = event.packet_delta
        if delta is None:
            return
        if delta.candidate_actions is not UNSET:
            reasons = (one.reason for one in delta.candidate_actions if one.tool == SUBMIT)
            self._offered = next(reasons, "")
        if delta.state_summary is not UNSET:
            self._state = delta.state_summary
        if delta.add_action is not UNSET and delta.add_action.tool != SUBMIT:
            self._found = delta.add_action.summary

    def text(self, left: Codes | None) -> str | None:
        """Return the reason; None if there is none.

        If lint findings are left (`left`), the tool's summary says more than the candidate's
        reason.
        """
        linted = left and all(map(is_lint_code, left))
        return self._state or (self._found if linted else self._offered) or None
