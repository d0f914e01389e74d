"""Evaluation settings, which can change the summarizers, the limit or the renderer."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec

from remora.memory.prompt.render import FUNCTIONGEMMA_TOOLS, LONG_TRACK, PACKET_ONLY, RENDERERS

RENDERER_NAMES = {
    name.partition("/")[0]: name
    for name in RENDERERS
    if name not in (FUNCTIONGEMMA_TOOLS, LONG_TRACK, PACKET_ONLY)
}
"""The newest version of each renderer of an agent's packets, by name without version."""


class EvalSetting(msgspec.Struct, frozen=True, kw_only=True):
    """The settings to change. None keeps the recorded value.

    `limit` is the maximum number of tokens in a whole request.
    """

    summarizers: str | None = None
    limit: int | None = None
    renderer: str | None = None

    @property
    def name(self) -> str:
        """`recorded`, or a list of the changed settings, such as `default, 600 tokens, json/1`."""
        limit = None if self.limit is None else f"{self.limit} tokens"
        return ", ".join(filter(None, (self.summarizers, limit, self.renderer))) or "recorded"

    def as_json(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


RECORDED = EvalSetting()


def setting_combinations(
    summarizers: Sequence[str], limits: Sequence[int], renderers: Sequence[str]
) -> tuple[EvalSetting, ...]:
    """Return every combination of the given values, in order.

    Return an empty tuple if no values are given.
    """
    every = product(summarizers or (None,), limits or (None,), renderers or (None,))
    made = [
        EvalSetting(summarizers=s, limit=n, renderer=r and RENDERER_NAMES[r]) for s, n, r in every
    ]
    return tuple(setting for setting in dict.fromkeys(made) if setting != RECORDED)
