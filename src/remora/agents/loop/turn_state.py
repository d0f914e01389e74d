"""The recorded state of one turn of an agent."""

import msgspec

from remora.agents.decision.policy import Exchange
from remora.memory.events import ModelRequest, SubmitResult, ToolCalled


class TurnState(msgspec.Struct, kw_only=True):
    """The recorded state of a turn.

    `has_facts` is true if the turn's Hub facts are recorded, and `has_candidates` is true if its
    candidates are. `request` is a request that has no answer yet, and `steps` are the recorded
    answers of the model that decides now. If `is_asked` is true, a model was asked.
    """

    number: int = 0
    has_facts: bool = False
    has_candidates: bool = False
    is_asked: bool = False
    request: ModelRequest | None = None
    steps: list[Exchange] = []
    call: ToolCalled | None = None
    has_result: bool = False
    submitted: SubmitResult | None = None
    is_over: bool = False

    @property
    def is_decided(self) -> bool:
        """Return True if nothing can be added to the packet before this turn's decision."""
        return bool(self.is_asked or self.call or self.is_over)
