"""Results of an evaluation: each target of each arm, and what the arm took."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from remora.operations.restorer import Outcome

Basis = Literal["people", "checks"]
"""Judge of a result: what people wrote, or the checks of the agent."""
Verdict = Literal["verified", "failed", "nothing"]
"""A verified change set, none because of a check or an error, or none because none was wanted."""
OUTCOMES: Mapping[Basis, tuple[Outcome | Verdict, ...]] = {
    "people": ("exact", "equivalent", "different", "left"),
    "checks": ("verified", "failed", "nothing"),
}


class Target(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A hidden part, or a function to work on. `text` is what people wrote."""

    path: str
    name: str
    kind: str = ""
    text: str = ""


class TargetResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result for a target. `text` was written in place of a hidden part."""

    target: Target
    outcome: Outcome | Verdict
    text: str = ""

    @property
    def is_written(self) -> bool:
        return self.outcome not in ("left", "nothing")

    @property
    def is_right(self) -> bool:
        return self.outcome in ("exact", "equivalent", "verified")


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one arm on one operation.

    `jobs` counts jobs by status, `job_errors` the errors of jobs that failed or whose model did,
    and `decisions` calls by what chose them. `conflicts` is the number of verified change sets that
    did not fit together. `invalid` and `refused` count calls of the model. `requests` and `tokens`
    count what models were sent. `seconds` is the time of the run in this process, or since it was
    resumed. `error` is the reason why the arm could not run. `exit_code` is not 0 if the arm could
    not run, or if the model of a job failed.
    """

    name: str
    results: tuple[TargetResult, ...] = ()
    model: str | None = None
    jobs: Mapping[str, int] = {}
    job_errors: Mapping[str, int] = {}
    decisions: Mapping[str, int] = {}
    conflicts: int = 0
    turns: int = 0
    invalid: int = 0
    refused: int = 0
    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    resumed: bool = False
    error: str = ""
    exit_code: int = 0


class OperationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all arms on one operation. `found` is the number of possible targets."""

    operation: str
    basis: Basis
    found: int
    targets: Sequence[Target]
    arms: Sequence[ArmResult] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
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
        return max(
            (arm.exit_code for operation in self.operations for arm in operation.arms), default=0
        )
