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
    """A hidden part, or a function to work on."""

    path: str
    name: str
    text: str = ""
    """What people wrote."""


class TargetResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result for a target."""

    target: Target
    outcome: Outcome | Verdict
    text: str = ""
    """What was written in place of a hidden part."""

    @property
    def is_written(self) -> bool:
        return self.outcome not in ("left", "nothing")

    @property
    def is_right(self) -> bool:
        return self.outcome in ("exact", "equivalent", "verified")


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one arm on one operation."""

    name: str
    results: tuple[TargetResult, ...] = ()
    model: str | None = None
    jobs: Mapping[str, int] = {}
    """Jobs, counted by status."""
    job_errors: Mapping[str, int] = {}
    """The errors of jobs that failed or whose model did."""
    decisions: Mapping[str, int] = {}
    """Calls, counted by what chose them."""
    conflicts: int = 0
    """The number of verified change sets that did not fit together."""
    turns: int = 0
    invalid: int = 0
    """Calls of the model that were not valid."""
    refused: int = 0
    """Calls of the model that were not permitted."""
    requests: int = 0
    """Requests to models."""
    tokens: int = 0
    """Tokens of their prompts."""
    seconds: float = 0.0
    """The time of the run in this process, or since it was resumed."""
    resumed: bool = False
    error: str = ""
    """The reason why the arm could not run."""
    exit_code: int = 0
    """Not 0 if the arm could not run, or if the model of a job failed."""


class OperationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all arms on one operation."""

    operation: str
    basis: Basis
    found: int
    """The number of possible targets."""
    targets: Sequence[Target]
    """Those that were chosen."""
    arms: Sequence[ArmResult] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The results of an evaluation."""

    seed: int
    versions: Mapping[str, str]
    """Versions of Remora and of the programs that it uses."""
    commit: str | None
    """The project's commit, if any."""
    operations: Sequence[OperationResult]
    notes: Sequence[str]
    """The files that were left out, with the reasons."""

    @property
    def exit_code(self) -> int:
        """The exit code of the worst error of any arm."""
        return max(
            (arm.exit_code for operation in self.operations for arm in operation.arms), default=0
        )
