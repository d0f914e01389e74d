"""Models: one client for all servers, the embedded one, decoding, parsing, counting."""

from remora.models.model import (
    Answer,
    Capabilities,
    Decoding,
    Model,
    Request,
    TokenCounter,
    truncated,
)
from remora.models.provider import listening, open_model, status
from remora.models.scripted import ScriptedModel

__all__ = [
    "Answer",
    "Capabilities",
    "Decoding",
    "Model",
    "Request",
    "ScriptedModel",
    "TokenCounter",
    "listening",
    "open_model",
    "status",
    "truncated",
]
