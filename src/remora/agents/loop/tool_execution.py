"""One tool call carried out: the script run, its result in the words of the Long Track."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from remora.agents.builtin_tools import RECALL, SUBMIT, Outputs, recall
from remora.agents.definition.agent import Agent
from remora.agents.definition.script_inputs import HARNESS_INPUTS
from remora.chat import ToolCall
from remora.errors import HostError
from remora.memory.encode_values import encoded_sha256
from remora.memory.events import Change, ContextUpdate, ToolResulted
from remora.sandbox.interpreters import ProjectPython
from remora.tools.contract import is_contract
from remora.tools.tool import Tool, ToolRun, run_tool


class ToolExecution(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's result: what the delta is made from, and what the event records beside it."""

    result: dict[str, Any]
    record: dict[str, Any]


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What a script may be given: the workspace, where the node stands, the packet, options.

    `outputs` are the raw outputs so far, for `recall`; `python` is what runs the project's code.
    """

    tree: Path
    target: dict[str, Any]
    packet: dict[str, Any]
    options: dict[str, Any]
    outputs: Outputs
    clock: datetime
    seed: int
    python: ProjectPython | None = None

    def inputs(self) -> dict[str, Any]:
        """By the names in `HARNESS_INPUTS`."""
        return {name: getattr(self, name) for name in HARNESS_INPUTS}


def act(call: ToolCall, agent: Agent, scene: Scene) -> ToolExecution:
    """Carry out a call that was checked; never raises for what a tool does."""
    if call.tool == SUBMIT:
        return _builtin({"result": None, "summary": "Submitted", "outcome": "success"})
    if call.tool == RECALL:
        try:
            return _builtin(recall(call.args["ref"], list(call.args["lines"]), scene.outputs))
        except HostError as error:
            return _builtin({"result": None, "error": error.message, "outcome": "error"})
    return run_part(agent.tools[call.tool], call.args, scene)


def refused(why: str) -> ToolExecution:
    """The result of a call that was not carried out."""
    result = {"result": None, "error": why, "outcome": "error"}
    return _builtin(result, error_kind="denied")


def run_part(tool: Tool, args: Mapping[str, Any], scene: Scene) -> ToolExecution:
    """Run a tool's, a context's or a candidates' script; the harness fills its own inputs."""
    wanted = {spec.name for spec in tool.script.inputs}
    given = {name: value for name, value in scene.inputs().items() if name in wanted}
    run = run_tool(
        tool,
        {**args, **given},
        scene.tree,
        clock=scene.clock,
        seed=scene.seed,
        python=scene.python,
    )
    record = {**_for_event(run, tool.script.sha256), "inputs": _beside_packet(given)}
    return ToolExecution(result=_for_delta(run), record=record)


def tool_result(
    call: ToolCall,
    acted: ToolExecution,
    changes: tuple[Change, ...],
    summarized: dict[str, str] | None,
) -> ToolResulted:
    """What the call came to, as it is recorded."""
    return ToolResulted(
        tool=call.tool, args=call.args, changes=changes, summarized=summarized, **acted.record
    )


def context_update(source: str, acted: ToolExecution) -> ContextUpdate:
    """What a context's or a candidates' script found, as it is recorded."""
    record = acted.record
    as_it_is = ("host_calls", "error", "script_sha256", "clock", "seed", "inputs")
    return ContextUpdate(
        source=source,
        value=record["parsed_output"],
        output_sha256=encoded_sha256(record["raw_output"]),
        **{name: record[name] for name in as_it_is},
    )


def _builtin(value: dict[str, Any], error_kind: str | None = None) -> ToolExecution:
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


def _for_delta(run: ToolRun) -> dict[str, Any]:
    result = run.result
    said = {
        "raw_output": run.raw_output,
        "summary": result.summary,
        "knowledge_delta": result.knowledge_delta if _speaks(run) else None,
        "outcome": result.outcome,
        "error": result.error,
        "diagnostics": result.diagnostics,
        "candidate_actions": result.candidate_actions,
        "state_summary": result.state_summary,
        "excerpt": result.excerpt,
        "extensions": result.extensions,
    }
    # a summarizer is given the raw output, also where that is null
    return {k: value for k, value in said.items() if value is not None or k == "raw_output"}


def _speaks(run: ToolRun) -> bool:
    """Whether it is the tool, and not its summarizer, that says what is worth knowing."""
    return run.result.outcome == "error" or is_contract(run.raw_output)


def _beside_packet(given: Mapping[str, Any]) -> dict[str, Any]:
    """What replay needs and the stream does not say already."""
    return {name: value for name, value in given.items() if name != "packet"}


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
