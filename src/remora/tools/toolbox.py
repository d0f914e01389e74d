"""A tool, and one run of it on a tree."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from remora.chat import ToolSchema
from remora.pym import HostCall, Limits, Script, ScriptRun
from remora.tools.contract import ToolResult, as_result, breach
from remora.tools.host.place import Place
from remora.tools.registry import bind

_DEFAULT_LIMITS = Limits()


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A script under the name a model calls it by; `grants` are the host functions it may call."""

    name: str
    description: str
    script: Script
    grants: tuple[str, ...] = ()

    @property
    def schema(self) -> ToolSchema:
        """The tool as declared to a model; the script's docstring where it has no description."""
        description = self.description or self.script.description.split("\n\n")[0]
        return ToolSchema(
            name=self.name, description=description, parameters=self.script.parameters
        )


class ToolRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a run gave, in the contract's words and as it came.

    `isolation` is the weakest that a subprocess ran under, `none` where none was started;
    `error_kind` is null or one of syntax, typing, runtime, limit, crashed, contract, denied.
    """

    result: ToolResult
    raw_output: Any
    printed: str
    host_calls: tuple[HostCall, ...]
    isolation: str
    duration_ms: int
    error_kind: str | None

    def document(self) -> dict[str, Any]:
        """The contract's dict with `host_calls` and `error_kind`, as `tools run --json` has it."""
        made: dict[str, Any] = msgspec.to_builtins(self.result, enc_hook=repr)
        calls = msgspec.to_builtins(list(self.host_calls))
        return {**made, "host_calls": calls, "error_kind": self.error_kind}


def run_tool(  # noqa: PLR0913 - what a run is, and what makes it repeatable
    tool: Tool,
    args: Mapping[str, Any],
    tree: Path,
    *,
    clock: datetime,
    seed: int,
    limits: Limits = _DEFAULT_LIMITS,
    extra_externals: Mapping[str, Callable[..., Any]] | None = None,
) -> ToolRun:
    """Run a tool on the files beneath `tree`; whatever it does, the outcome is a value.

    `extra_externals` are functions of the caller's own, granted with the tool's grants.
    """
    place = Place(tree)
    externals = {**bind(tool.grants, place), **(extra_externals or {})}
    run = tool.script.run(args, externals, limits=limits, clock=clock, seed=seed)
    result, error_kind = _told(tool, run)
    return ToolRun(
        result=result,
        raw_output=run.value,
        printed=run.printed,
        host_calls=run.host_calls,
        isolation=place.isolation,
        duration_ms=run.duration_ms,
        error_kind=error_kind,
    )


def _told(tool: Tool, run: ScriptRun) -> tuple[ToolResult, str | None]:
    if run.error is not None:
        summary = f"{tool.name} failed"
        failed = ToolResult(summary=summary, outcome="error", error=run.error.message)
        return failed, run.error.kind
    kind = None if breach(run.value) is None else "contract"
    return as_result(run.value), kind
