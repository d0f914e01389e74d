"""Tools, and the code that runs them on a tree."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from remora.chat import ToolSchema
from remora.errors import ReplayMismatch, ScriptError
from remora.pym import HostCall, Limits, Script, ScriptRun, replay
from remora.tools.file_tree import NO_SUBPROCESS
from remora.tools.host_functions import HostFunction, bind
from remora.tools.result_contract import ToolResult, as_result, contract_problem
from remora.tools.tree import ToolTree

_DEFAULT_LIMITS = Limits()


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A script that a model can call by its `name`.

    `grants` contains the host functions that the script may call.
    """

    name: str
    description: str
    script: Script
    grants: tuple[HostFunction, ...] = ()

    @property
    def schema(self) -> ToolSchema:
        """The tool's schema for a model.

        If the tool has no description, the first paragraph of the script's docstring is used.
        """
        description = self.description or self.script.description.split("\n\n")[0]
        return ToolSchema(
            name=self.name, description=description, parameters=self.script.parameters
        )


class ToolRun(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a tool run, both converted and raw.

    `isolation` is the weakest isolation level of the run's subprocesses, or `none` if no subprocess
    was started. `error_kind` is null or one of syntax, typing, runtime, limit, crashed, contract,
    denied. `replay_tool` can repeat the run from its `host_calls`, `clock` and `seed`.
    """

    result: ToolResult
    raw_output: Any
    printed: str
    host_calls: tuple[HostCall, ...]
    isolation: str
    duration_ms: int
    error_kind: str | None
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
    result, error_kind = _result_and_kind(name, run)
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


def _result_and_kind(name: str, run: ScriptRun) -> tuple[ToolResult, str | None]:
    if run.error is not None:
        summary = f"{name} failed"
        failed = ToolResult(summary=summary, outcome="error", error=run.error.message)
        return failed, run.error.kind
    kind = None if contract_problem(run.value) is None else "contract"
    return as_result(run.value), kind
