"""The payloads of the events of a run's stream."""

from typing import Any, ClassVar

import msgspec

from remora.memory.payloads import Change, Head, Payload


class RunStart(Payload, frozen=True, kw_only=True):
    """The plan, base files and configuration of a run."""

    type: ClassVar[str] = "run_start"
    plan: dict[str, Any] = {}
    config: dict[str, Any] = {}
    base: dict[str, Any] = {}
    install: str = ""


class JobStart(Payload, frozen=True, kw_only=True, gc=False):
    """Start of a job attempt."""

    type: ClassVar[str] = "job_start"
    agent_id: str
    operation: str
    node_id: str
    attempt: int = 1


class JobEnd(Payload, frozen=True, kw_only=True, gc=False):
    """End of a job attempt. `head` anchors the agent's stream in the run's stream."""

    type: ClassVar[str] = "job_end"
    agent_id: str
    operation: str
    node_id: str
    attempt: int = 1
    status: str = ""
    head: Head = Head()


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What replaced an agent's change set that was accepted in part or with edits.

    `changes` was applied instead of the change set, and `sha256` is the hash of its canonical JSON.
    `hunks` contains the numbers of the accepted hunks, counted from 1, of `of` hunks. It is empty
    if `edited` is true: then the user has edited the contents.
    """

    changes: tuple[Change, ...]
    sha256: str
    hunks: tuple[int, ...] = ()
    of: int = 0
    edited: bool = False


class Review(Payload, frozen=True, kw_only=True):
    """A user's verdict on a change set. A later verdict replaces an earlier one.

    `verdict` is `accepted`, `rejected`, `conflict`, `retried`, `reverted`, `withdrawn` or
    `reopened`. The last one withdraws the verdict before it, so that the change set is pending
    again. `surface` is `cli` or `web`.

    If `branch` is set, the accepted change set was
    committed to that branch, and the working tree was not changed. `written` is set if the change
    set was accepted in part or with edits, and has all parts that were accepted until then.
    `present` contains the numbers of the accepted hunks, counted from 1, that the user's files
    already contained, and that `revert` therefore keeps. Both are repeated in the verdict that takes
    the acceptance back. `left` contains the numbers of the hunks that are still pending, if only
    some hunks of the change set were accepted, rejected or reverted. `refused` contains the
    identities of the rejected hunks, which are not proposed again.
    """

    type: ClassVar[str] = "review"
    verdict: str
    agent_id: str
    change_set_sha256: str = ""
    head: Head = Head()
    feedback: str | None = None
    surface: str = "cli"
    branch: str | None = None
    detail: list[dict[str, Any]] = []
    written: Written | None = None
    present: tuple[int, ...] = ()
    left: tuple[int, ...] = ()
    refused: tuple[str, ...] = ()


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """A gate of the project, such as its tests. If it did not judge, `missing` says why.

    `note` has what is left out, such as tests that differ between two runs.
    """

    name: str
    label: str = ""
    missing: str = ""
    note: str = ""


class TakenOut(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a change set that gates took out because one was worse with it, and the reasons.

    `kept` contains the numbers of the hunks that are still proposed, counted from 1. `findings`
    contains the findings, each as `{code, message, line}`, that the change set fixed in the others.
    `gates` contains the names of the gates, which older records do not have.
    """

    agent_id: str
    kept: tuple[int, ...] = ()
    gates: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    findings: tuple[dict[str, Any], ...] = ()


class Gates(Payload, frozen=True, kw_only=True):
    """The judgement of a project's gates on the change sets of the agents `judged` together.

    `proof` is `tested` if the project's tests are as before with what is left, `checked` if another
    gate is, and `parsed` otherwise. `seconds` is the time that the gates took.
    """

    type: ClassVar[str] = "gates"
    results: tuple[GateResult, ...] = ()
    judged: tuple[str, ...] = ()
    taken_out: tuple[TakenOut, ...] = ()
    proof: str = ""
    seconds: float = 0.0

    def takes_out(self, gate: str) -> bool:
        """Return True if a gate took out a part of a change set."""
        return any(gate in taken.gates for taken in self.taken_out)


class RunEnd(Payload, frozen=True, kw_only=True):
    """End of a run. `totals` counts the run's jobs by status."""

    type: ClassVar[str] = "run_end"
    totals: dict[str, Any] = {}
