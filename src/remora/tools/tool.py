"""Tools, and the code that runs them on a tree."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

import msgspec

from remora.chat import ToolSchema
from remora.errors import ReplayMismatch, ScriptError
from remora.pym import HostCall, Limits, Script, ScriptRun, replay
from remora.text import clip, clip_words
from remora.tool_contract import is_contract, unknown_keys
from remora.tools.file_tree import NO_SUBPROCESS
from remora.tools.host_functions import HostFunction, bind
from remora.tools.tree import ToolTree

_DEFAULT_LIMITS = Limits()

_SUMMARY_LIMIT = 200
_Outcome = Literal["success", "error", "partial"]


class _Excerpt(TypedDict):
    """An unmodified excerpt of a file."""

    ref: str
    path: str
    lines: tuple[int, int]
    """The numbers of the first and last line, starting at 1."""
    text: str
    focus: NotRequired[int]
    """The line that stays longest if the excerpt is cut."""


class CandidateAction(TypedDict):
    """A valid next action."""

    tool: str
    args: dict[str, Any]
    reason: str
    """Why it may be the right one."""
    slots: NotRequired[dict[str, Any]]
    """Limits of open arguments."""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a tool.

    Values and keys are kept as the script returned them, so they may not be representable in JSON.
    """

    result: Any = None
    summary: str | None = None
    """What later turns see of the call. If it is None, the caller creates a summary."""
    knowledge_delta: dict[Any, Any] = {}
    outcome: _Outcome = "success"
    diagnostics: list[Any] | None = None
    candidate_actions: list[CandidateAction] | None = None
    state_summary: str | None = None
    excerpt: _Excerpt | None = None
    extensions: dict[Any, Any] | None = None
    error: str | None = None
    """The reason in one line, if the outcome is `error` and the tool gave one."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A script that a model can call by its name."""

    name: str
    description: str
    script: Script
    grants: tuple[HostFunction, ...] = ()
    """The host functions that the script may call."""

    @property
    def schema(self) -> ToolSchema:
        """The tool's schema for a model.

        If the tool has no description, the first paragraph of the script's docstring is used.
        """
        description = self.description or self.script.description.split("\n\n")[0]
        return ToolSchema(
            name=self.name,
            description=description,
            parameters=self.script.parameters,
            looks=not any(function.writes for function in self.grants),
        )


class ToolRun(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a tool run.

    `replay_tool` can repeat the run from its `host_calls`, `clock` and `seed`.
    """

    result: ToolResult
    raw_output: Any
    """The script's value, from which `result` was converted."""
    printed: str
    host_calls: tuple[HostCall, ...]
    isolation: str
    """The weakest isolation level of the run's subprocesses, or `none` if there was none."""
    duration_ms: int
    error_kind: str | None
    """None, or one of syntax, typing, runtime, limit, crashed, contract, denied."""
    clock: datetime
    seed: int

    def document(self) -> dict[str, Any]:
        """Return the result, `host_calls`, `error_kind`, `clock` and `seed` as a dict.

        Values are kept as the script returned them, so they may not be representable in JSON.
        """
        return {
            **msgspec.structs.asdict(self.result),
            "host_calls": msgspec.to_builtins(list(self.host_calls)),
            "error_kind": self.error_kind,
            "clock": self.clock.isoformat(),
            "seed": self.seed,
        }


def run_tool(
    tool: Tool,
    args: Mapping[str, Any],
    tree: ToolTree,
    *,
    clock: datetime,
    seed: int,
    limits: Limits = _DEFAULT_LIMITS,
) -> ToolRun:
    """Run a tool on the files in `tree`. Never raises, because failures are part of the result."""
    granted = bind(tool.grants, tree)
    run = tool.script.run(args, granted, limits=limits, clock=clock, seed=seed)
    return _tool_run(tool.name, run, clock, seed, tree.isolation)


def replay_tool(
    tool: Tool,
    args: Mapping[str, Any],
    host_calls: Sequence[HostCall],
    *,
    clock: datetime,
    seed: int,
    limits: Limits = _DEFAULT_LIMITS,
) -> ToolRun:
    """Repeat a recorded run, using the recorded results of its host calls.

    The same input always produces the same result. Raises ReplayMismatch if the script makes a
    different host call.
    """
    run = replay(tool.script, args, host_calls, limits=limits, clock=clock, seed=seed)
    if isinstance(run.error, ReplayMismatch):
        raise run.error
    return _tool_run(tool.name, run, clock, seed, NO_SUBPROCESS)


def failed_load(name: str, error: ScriptError, *, clock: datetime, seed: int) -> ToolRun:
    run = ScriptRun(value=None, printed="", host_calls=(), error=error, duration_ms=0)
    return _tool_run(name, run, clock, seed, NO_SUBPROCESS)


def _tool_run(name: str, run: ScriptRun, clock: datetime, seed: int, isolation: str) -> ToolRun:
    error_kind = "contract" if _contract_problem(run.value) is not None else None
    result = as_result(run.value)
    if run.error is not None:
        error_kind = run.error.kind
        result = ToolResult(summary=f"{name} failed", outcome="error", error=run.error.message)
    return ToolRun(
        result=result,
        raw_output=run.value,
        printed=run.printed,
        host_calls=run.host_calls,
        isolation=isolation,
        duration_ms=run.duration_ms,
        error_kind=error_kind,
        clock=clock,
        seed=seed,
    )


def as_result(value: Any) -> ToolResult:
    """Convert the value of a script (`ScriptRun.value`) to a tool result.

    Every value is accepted. A dict may contain its summary in `_summary`. If a dict violates the
    contract, the outcome is `error`.
    """
    problem = _contract_problem(value)
    if problem is not None:
        return ToolResult(outcome="error", error=problem)
    if is_contract(value):
        made = _converted(value)
        return msgspec.structs.replace(made, summary=_clip_summary(made.summary))
    outcome = _default_outcome(value)
    given_error = value.get("error") if outcome == "error" else None
    error = None if given_error is None else _clip_summary(_error_text(given_error))
    if isinstance(value, dict) and isinstance(value.get("_summary"), str):
        rest = {key: item for key, item in value.items() if key != "_summary"}
        summary = _clip_summary(value["_summary"])
        return ToolResult(result=rest, summary=summary, outcome=outcome, error=error)
    return ToolResult(result=value, outcome=outcome, error=error)


def _contract_problem(value: Any) -> str | None:
    """Describe in one line how a value violates the contract. Return None if it does not."""
    for key, meant in unknown_keys(value):
        if meant or is_contract(value):
            shown = clip(" ".join(_error_text(key).split()), 40)
            listed = ", ".join(ToolResult.__struct_fields__)
            return (
                f"the tool's result breaks the contract: no key '{shown}'{meant}; there is {listed}"
            )
    try:
        if is_contract(value):
            _converted(value)
    except msgspec.ValidationError as error:
        return f"the tool's result breaks the contract: {error}"
    return None


def _converted(value: dict[str, Any]) -> ToolResult:
    # null counts as absent
    given = {key: item for key, item in value.items() if item is not None}
    return msgspec.convert({"outcome": _default_outcome(value), **given}, ToolResult)


def _default_outcome(value: Any) -> _Outcome:
    return "error" if isinstance(value, dict) and value.get("error") else "success"


def _error_text(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):  # thousands of digits or levels
        return f"an error of type {type(value).__name__}, too large to show"


def _clip_summary(text: str | None) -> str | None:
    return None if text is None else clip_words(text, _SUMMARY_LIMIT)
