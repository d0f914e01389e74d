"""The recorded steps between a turn's candidates and its decision."""

from typing import NamedTuple

from remora.memory.events import ModelRequest, ModelResponse
from remora.memory.packet import Candidate


class Exchange(NamedTuple):
    """A request, its answer, and the candidates that the request showed."""

    request: ModelRequest
    response: ModelResponse
    candidates: tuple[Candidate, ...]


class Tried(NamedTuple):
    """The candidates that are left after all were tried. Empty if none passed the checks."""

    kept: tuple[Candidate, ...]


class Escalated(NamedTuple):
    """The turn was passed on to the larger model."""

    reason: str


Step = Exchange | Tried | Escalated
