"""Results of an evaluation: each slot of each arm, and what the arm took."""

from collections.abc import Mapping, Sequence

import msgspec

from remora.operations.restorer import Outcome, Slot, Source


class SlotResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an arm wrote in place of a slot's text.

    `kind` is the kind of its part. `source` is null if nothing was written.
    """

    slot: Slot
    kind: str
    outcome: Outcome
    text: str = ""
    source: Source | None = None
    probability: float | None = None

    @property
    def is_written(self) -> bool:
        return self.outcome != "left"

    @property
    def is_right(self) -> bool:
        return self.outcome in ("exact", "equivalent")


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one arm on one operation.

    `jobs` counts jobs by status, and `job_errors` counts the errors with which jobs ended. `conflicts` is the number of verified change sets that did not fit
    together. `requests` and `tokens` count what models were sent. `seconds` is the time of the run
    in this process, or since it was resumed. `error` is the reason why the arm could not run.
    `exit_code` is not 0 if the arm could not run, or if the model of a job failed.
    """

    name: str
    results: tuple[SlotResult, ...] = ()
    model: str | None = None
    jobs: Mapping[str, int] = {}
    job_errors: Mapping[str, int] = {}
    conflicts: int = 0
    decided_by: Mapping[str, int] = {}
    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    resumed: bool = False
    error: str = ""
    exit_code: int = 0


class OperationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all arms on one operation.

    `found` is the number of slots in the project, and `slots` are the hidden ones. `hidden` counts
    these by kind.
    """

    operation: str
    found: int
    slots: Sequence[Slot]
    hidden: Mapping[str, int]
    arms: Sequence[ArmResult] = ()


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """The results of an evaluation.

    `versions` contains versions of Remora and of the programs that it uses. `commit` is the
    project's commit, if any. `notes` names the files that were left out, with the reasons.
    """

    seed: int
    versions: Mapping[str, str]
    commit: str | None
    operations: Sequence[OperationResult]
    notes: Sequence[str]

    @property
    def exit_code(self) -> int:
        """The exit code of the worst error of any arm."""
        return max((arm.exit_code for each in self.operations for arm in each.arms), default=0)
