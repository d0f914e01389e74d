"""Executes tool calls."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from remora.agents.builtin_tools import LEAVE, RECALL, SUBMIT, RawOutputs, leave, recall
from remora.agents.definition.agent import Agent
from remora.agents.definition.scripts import HARNESS_INPUTS
from remora.chat import ToolCall
from remora.errors import HostError
from remora.memory.encode_values import encoded_sha256
from remora.memory.events import Change, ContextUpdate, ToolResulted
from remora.tool_contract import is_contract
from remora.tools.tool import Tool, ToolRun, run_tool
from remora.tools.tree import ToolTree


class ToolExecution(msgspec.Struct, frozen=True, kw_only=True):
    """The result of running a tool or script."""

    result: dict[str, Any]
    """What the packet delta is computed from."""
    record: dict[str, Any]
    """The fields of the recorded event."""


class ScriptInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs and the environment of a script."""

    tree: ToolTree
    target: dict[str, Any]
    packet: dict[str, Any]
    options: dict[str, Any]
    outputs: RawOutputs
    """The raw outputs so far, for `recall`."""
    clock: datetime
    seed: int
    progress: dict[str, Any] | None = None
    """None unless it is a context or candidates script."""

    def inputs(self) -> dict[str, Any]:
        """Return the inputs, keyed by the names in `HARNESS_INPUTS`, and the progress if it has one."""
        own = {} if self.progress is None else {"progress": self.progress}
        return {**{name: getattr(self, name) for name in HARNESS_INPUTS}, **own}


def execute_call(call: ToolCall, agent: Agent, inputs: ScriptInputs) -> ToolExecution:
    """Execute a validated call. Tool errors are part of the result and are never raised."""
    if call.tool == SUBMIT:
        return builtin_result({"result": None, "summary": "Submitted", "outcome": "success"})
    try:
        if call.tool == RECALL:
            lines = list(call.args["lines"])
            return builtin_result(recall(call.args["ref"], lines, inputs.outputs))
        if call.tool == LEAVE:
            return builtin_result(leave(call.args["item"], call.args["because"]))
    except HostError as error:
        return builtin_result({"result": None, "error": error.message, "outcome": "error"})
    return run_script_tool(agent.tools[call.tool], call.args, inputs)


def refused_result(why: str) -> ToolExecution:
    result = {"result": None, "summary": why, "error": why, "outcome": "error"}
    return builtin_result(result, error_kind="denied")


def run_script_tool(tool: Tool, args: Mapping[str, Any], inputs: ScriptInputs) -> ToolExecution:
    """Run a tool, context or candidates script, with the inputs that the harness provides."""
    wanted = {spec.name for spec in tool.script.inputs}
    given = {name: value for name, value in inputs.inputs().items() if name in wanted}
    run = run_tool(tool, {**args, **given}, inputs.tree, clock=inputs.clock, seed=inputs.seed)
    record = {
        **_for_event(run, tool.script.sha256),
        "inputs": {k: v for k, v in given.items() if k != "packet"},
    }
    return ToolExecution(result=delta_input(run), record=record)


def tool_result(
    call: ToolCall,
    execution: ToolExecution,
    changes: tuple[Change, ...],
    summarized: dict[str, str] | None,
) -> ToolResulted:
    return ToolResulted(
        tool=call.tool, args=call.args, changes=changes, summarized=summarized, **execution.record
    )


def context_update(source: str, execution: ToolExecution) -> ContextUpdate:
    record = execution.record
    as_it_is = ("host_calls", "error", "script_sha256", "clock", "seed", "inputs")
    return ContextUpdate(
        source=source,
        value=record["parsed_output"],
        output_sha256=encoded_sha256(record["raw_output"]),
        **{name: record[name] for name in as_it_is},
    )


def builtin_result(value: dict[str, Any], error_kind: str | None = None) -> ToolExecution:
    """Return the execution of a built-in tool that returns `value`."""
    return ToolExecution(
        result={**value, "raw_output": value["result"]},
        record={
            "raw_output": value,
            "parsed_output": value["result"],
            "outcome": value["outcome"],
            "error": value.get("error"),
            "error_kind": error_kind,
        },
    )


def delta_input(run: ToolRun) -> dict[str, Any]:
    """Return the fields of a tool result that determine the packet delta."""
    result = run.result
    has_knowledge = result.outcome == "error" or is_contract(run.raw_output)  # needs no summarizer
    fields = {
        "raw_output": run.raw_output,
        "summary": result.summary,
        "knowledge_delta": result.knowledge_delta if has_knowledge else None,
        "outcome": result.outcome,
        "error": result.error,
        "diagnostics": result.diagnostics,
        "candidate_actions": result.candidate_actions,
        "state_summary": result.state_summary,
        "excerpt": result.excerpt,
        "extensions": result.extensions,
    }
    # a summarizer gets the raw output even if it is null
    return {k: value for k, value in fields.items() if value is not None or k == "raw_output"}


def _for_event(run: ToolRun, script_sha256: str) -> dict[str, Any]:
    return {
        "raw_output": run.raw_output,
        "parsed_output": run.result.result,
        "outcome": run.result.outcome,
        "duration_ms": run.duration_ms,
        "host_calls": msgspec.to_builtins(list(run.host_calls)),
        "isolation": run.isolation,
        "error": run.result.error,
        "error_kind": run.error_kind,
        "script_sha256": script_sha256,
        "clock": run.clock.isoformat(),
        "seed": run.seed,
    }
