"""The summarizers that `agent.yaml` can name, a user's own `.pym` among them."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from remora.memory.canonical import canonical
from remora.memory.encode_values import encode_value, encoded_sha256
from remora.memory.legacy_events import raw_output_of
from remora.memory.summarizers import (
    DefaultSummarizer,
    LinterSummarizer,
    Summarizer,
    ToolSidePassthrough,
)
from remora.memory.tool_results import stated_summary
from remora.pym import Limits, Script, load

_REMEMBERED = 8
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""The clock of scripts whose result must not depend on when they run."""


class ScriptSummarizer(Summarizer):
    """A script from `raw` to `{"summary": str, "knowledge": {}}`.

    `raw` is the raw output as a stream holds it: what JSON lacks stands in its marked form, so
    that the script sees the same when a recorded stream is folded again. A script that fails says nothing: the default speaks for it.
    """

    def __init__(self, script: Script, tool: str) -> None:
        self.script = script
        self._otherwise = DefaultSummarizer(tool)
        self._run = lru_cache(_REMEMBERED)(self._asked)

    def summarize(self, raw_result: Any) -> str:
        """The script's `summary`."""
        said = self.said(raw_result).get("summary")
        return said if isinstance(said, str) else self._otherwise.summarize(raw_result)

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        """The script's `knowledge`."""
        said = self.said(raw_result).get("knowledge")
        return said if isinstance(said, dict) else self._otherwise.extract_knowledge(raw_result)

    def said(self, raw_result: Any) -> dict[str, Any]:
        """All that the script says of a result, in one run of it; nothing if it fails."""
        return self.said_of(encode_value(raw_result))

    def said_of(self, recorded: Any) -> dict[str, Any]:
        """The same of a result as a stream holds it."""
        return self._run(canonical(recorded))

    def _asked(self, raw: bytes) -> dict[str, Any]:
        inputs = {"raw": json.loads(raw)}
        run = self.script.run(inputs, {}, limits=Limits(), clock=EPOCH, seed=0)
        return run.value if run.error is None and isinstance(run.value, dict) else {}


def summarized(summarizer: Summarizer | None, result: Mapping[str, Any]) -> dict[str, str] | None:
    """What runs a summarizer's script again, where one spoke for a tool's result."""
    silent = not stated_summary(result) or not isinstance(result.get("knowledge_delta"), Mapping)
    if not silent or not isinstance(summarizer, ScriptSummarizer):
        return None
    said = summarizer.said(raw_output_of(result))  # it is remembered
    return {
        "script_sha256": summarizer.script.sha256,
        "output_sha256": encoded_sha256(said),
    }


def summarizer_named(name: str, tool: str, folder: Path) -> Summarizer:
    """`tool`, `linter`, `default`, or the path of a script beneath `folder`."""
    if name == "tool":
        return ToolSidePassthrough()
    if name == "linter":
        return LinterSummarizer()
    if name == "default":
        return DefaultSummarizer(tool)
    return ScriptSummarizer(load(folder / name), tool)


def summarizers_in(
    mode: str, named: Mapping[str, Summarizer], tools: Iterable[str]
) -> dict[str, Summarizer]:
    """Who speaks, by tool, for results that do not speak for themselves.

    `tool_specific`: who the definition names; `tool_side`: nobody but the tool; `default`: the
    default for all.
    """
    if mode == "tool_specific":
        return dict(named)
    if mode == "tool_side":
        return {tool: ToolSidePassthrough() for tool in tools}
    return {}
