"""The recorded steps between a turn's candidates and its decision."""

from typing import Any, NamedTuple

from remora.memory.events import ModelRequest, ModelResponse
from remora.memory.packet import Candidate


class Exchange(NamedTuple):
    """A request, its answer, and the candidates that the request showed."""

    request: ModelRequest
    response: ModelResponse
    candidates: tuple[Candidate, ...]


class Tried(NamedTuple):
    """The candidates that are left after all were tried. Empty if none passed the checks.

    `trials` contains the recorded end of each trial.
    """

    kept: tuple[Candidate, ...]
    trials: list[dict[str, Any]]

    @property
    def problem(self) -> str:
        """Why the first candidate that failed did so, or an empty string."""
        return next((str(one["detail"]) for one in self.trials if one.get("detail")), "")


class Escalated(NamedTuple):
    """The turn was passed on to the larger model."""

    reason: str


Step = Exchange | Tried | Escalated
