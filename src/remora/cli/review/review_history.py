"""The steps of an interactive review, which may go through several runs and repositories."""

from dataclasses import dataclass, field
from typing import Protocol


class TakesBack(Protocol):
    """A review whose verdicts can be taken back."""

    def take_back(self, step: "ReviewStep") -> bool:
        """Take a verdict back. Return False if it stays."""


@dataclass(frozen=True, eq=False)
class ReviewStep:
    """A verdict or a skip that can be undone.

    `kind` is the kind of the verdict, and `agents` are the IDs of its agents. The user was
    reviewing `review`, or only its group `only`.
    """

    review: TakesBack
    only: str | None
    kind: str
    agents: list[str]


@dataclass(eq=False)
class ReviewHistory:
    """The steps that can be undone, the latest last.

    `undone` is set if the last step was undone, and the user was reviewing something else.
    """

    steps: list[ReviewStep] = field(default_factory=list)
    undone: ReviewStep | None = None

    def undo(self) -> ReviewStep | None:
        """Undo the last step and return it, or None if it stays."""
        step = self.steps[-1]
        return step if step.review.take_back(step) else None

    def take_undone(self) -> ReviewStep | None:
        """Return the step that leads back to another review, once."""
        step, self.undone = self.undone, None
        return step
