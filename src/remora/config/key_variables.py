"""Environment variables that contain API keys."""

from collections.abc import Mapping
from types import MappingProxyType

KEY_VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "model": ("REMORA_API_KEY", "OPENAI_API_KEY"),
        "escalation": ("REMORA_ESCALATION_API_KEY",),
    }
)
"""For each section with an address: the variables that can contain its API key. The first one is
named in messages."""
