"""Models: one client for all servers, the embedded one, decoding, parsing, counting.

Start at `remora.models.provider.open_model`. Nothing heavy is loaded by importing this package.
"""

from remora.models.model import (
    Answer,
    Capabilities,
    Decoding,
    Model,
    Request,
    TokenCounter,
    truncated,
)

__all__ = [
    "Answer",
    "Capabilities",
    "Decoding",
    "Model",
    "Request",
    "TokenCounter",
    "truncated",
]
