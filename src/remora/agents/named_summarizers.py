"""The summarizers that `agent.yaml` can refer to, including `.pym` scripts."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from remora.memory.canonical import canonical
from remora.memory.encode_values import encode_value, encoded_sha256
from remora.memory.summarizers import (
    DefaultSummarizer,
    LinterSummarizer,
    Summarizer,
    ToolSidePassthrough,
)
from remora.memory.tool_results import raw_output_of, stated_summary
from remora.pym import Limits, Script, ScriptRun
from remora.text import did_you_mean

_REMEMBERED = 8
_KEYS = ("summary", "knowledge")
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Clock of scripts whose result must not depend on the time."""


class ScriptSummarizer(Summarizer):
    """Runs a summarizer script, which converts `raw` to `{"summary": str, "knowledge": {}}`.

    `raw` is the recorded form of the raw output, in which values that JSON does not support are
    encoded. A replay therefore gives the same result. If the script fails, the default summarizer
    is used.
    """

    def __init__(self, script: Script, tool: str) -> None:
        self.script = script
        self._otherwise = DefaultSummarizer(tool)
        self._run = lru_cache(_REMEMBERED)(self._run_script)

    def summarize(self, raw_result: Any) -> str:
        value = self.output(raw_result).get("summary")
        return value if isinstance(value, str) else self._otherwise.summarize(raw_result)

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        value = self.output(raw_result).get("knowledge")
        return value if isinstance(value, dict) else self._otherwise.extract_knowledge(raw_result)

    def output(self, raw_result: Any) -> dict[str, Any]:
        """Return the script's output for a result, or an empty dict if the script fails."""
        return self.output_of_recorded(encode_value(raw_result))

    def output_of_recorded(self, recorded: Any) -> dict[str, Any]:
        """Return the script's output for a result in its recorded form."""
        run = self._run(canonical(recorded))
        return run.value if run.error is None and isinstance(run.value, dict) else {}

    def problem(self, raw_result: Any) -> str:
        """Return why the script's output is not used as it is, or an empty string."""
        run = self._run(canonical(encode_value(raw_result)))
        if run.error is not None:
            return run.error.message
        for key in self.output(raw_result).keys() - _KEYS:
            return f"{self.script.label}: no key {key!r}{did_you_mean(str(key), _KEYS)}"
        return ""

    def _run_script(self, raw: bytes) -> ScriptRun:
        inputs = {"raw": json.loads(raw)}
        return self.script.run(inputs, {}, limits=Limits(), clock=EPOCH, seed=0)


def summarizer_record(
    summarizer: Summarizer | None, result: Mapping[str, Any]
) -> dict[str, str] | None:
    """Return the hashes needed to replay the summarizer's script, or None if no script was used.

    `problem` says why its output is not used as it is.
    """
    silent = not stated_summary(result) or not isinstance(result.get("knowledge_delta"), Mapping)
    if not silent or not isinstance(summarizer, ScriptSummarizer):
        return None
    raw = raw_output_of(result)
    digest = encoded_sha256(summarizer.output(raw))  # it is cached
    record = {"script_sha256": summarizer.script.sha256, "output_sha256": digest}
    problem = summarizer.problem(raw)
    return {**record, "problem": problem} if problem else record


def summarizer_named(name: str, tool: str, load: Callable[[str], Script]) -> Summarizer:
    """Return the summarizer called `name`: `tool`, `linter`, `default`, or a script to `load`."""
    if name == "tool":
        return ToolSidePassthrough()
    if name == "linter":
        return LinterSummarizer()
    if name == "default":
        return DefaultSummarizer(tool)
    return ScriptSummarizer(load(name), tool)


def summarizers_in(
    mode: str, named: Mapping[str, Summarizer], tools: Iterable[str]
) -> dict[str, Summarizer]:
    """Return the summarizers, keyed by tool.

    If `mode` is `tool_specific`, the definition's summarizers (`named`) are used. If it is
    `tool_side`, each tool's own summary is used. Otherwise, the result is empty and all tools use
    the default summarizer.
    """
    if mode == "tool_specific":
        return dict(named)
    if mode == "tool_side":
        return {tool: ToolSidePassthrough() for tool in tools}
    return {}
