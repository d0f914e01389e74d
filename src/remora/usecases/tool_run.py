"""Runs a tool or script once on a private copy of the project."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from remora.agents.inputs.target_location import locate_target
from remora.agents.job import Job
from remora.agents.loop.tool_execution import delta_input
from remora.agents.named_summarizers import summarizer_named, summarizer_record, summarizers_in
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, Node, find_node
from remora.errors import HostError, NotFound, ScriptError, UsageError
from remora.ids import MODULE, NodeKey, escape_path, node_key
from remora.json_schema import validator
from remora.memory.context import ContextManager
from remora.memory.summarizers import Summarizer
from remora.pym import InputSpec, Script, load
from remora.rmtree import try_remove_tree
from remora.runs.project import Project, ProjectRecords
from remora.text import did_you_mean
from remora.tools.tool import Tool, ToolRun, failed_load, run_tool
from remora.tools.tree import ToolTree
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.prepare_run import copy_project, next_run_id
from remora.usecases.tool_lookup import tool_named
from remora.workspaces.copy.changes import diff
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.workspace import Workspace

_TARGET = "target"
_SEED = 0
"""The seed of a trial, so that it can be repeated."""


@dataclass(frozen=True, kw_only=True)
class ToolRequest:
    """The arguments of `tools run`."""

    name: str
    """A tool or a `.pym` file."""
    inputs: Sequence[str]
    """`KEY=VALUE` strings."""
    grants: Sequence[str]
    """Names of host functions."""


@dataclass(frozen=True, kw_only=True)
class ToolTrial:
    """The redacted result of a trial run. `diffs` contains the changes to the private copy."""

    name: str
    run: ToolRun
    document: dict[str, Any]
    diffs: tuple[str, ...]
    problem: str = ""
    """The reason if the output of the tool's summarizer is not used as it is."""


class _TargetName(str):
    """A `target` input given as `PATH` or `PATH:QUALNAME`."""

    __slots__ = ()


def try_tool(invocation: Invocation, request: ToolRequest) -> ToolTrial:
    """Run a tool once, without changing the project's files or recording anything.

    Script failures, including load errors, are part of the result. Raises NotFound if the tool is
    unknown, and UsageError if a host function is unknown or the inputs are invalid.
    """
    project = open_project(invocation)
    try:
        tool, summarizers = _tool(project, invocation.folder, request)
    except ScriptError as error:
        failed = failed_load(request.name, error, clock=utc_now(), seed=_SEED)
        return _trial(project, request.name, failed)
    given = _inputs(tool.script, request.inputs)
    runs_code = any(grant.runs_project_code for grant in tool.grants)
    python = project.interpreter() if runs_code else None
    with _workspace(project) as workspace:
        if isinstance(given.get(_TARGET), _TargetName):
            given[_TARGET] = _target(given[_TARGET], workspace)
        tree = ToolTree(workspace.tree, python)
        run = run_tool(tool, given, tree, clock=utc_now(), seed=_SEED)
        record = summarizer_record(summarizers.get(tool.name), delta_input(run)) or {}
        run = _summarize(project, run, tool.name, summarizers)
        return replace(
            _trial(project, request.name, run, tuple(_diffs(workspace))),
            problem=record.get("problem", ""),
        )


def _summarize(
    project: Project, run: ToolRun, name: str, named: Mapping[str, Summarizer]
) -> ToolRun:
    """Return the run with the summary and the knowledge that an agent would derive from it."""
    context = ContextManager({})
    mode = project.config.runner.memory.summarizer_mode
    for tool, summarizer in summarizers_in(mode, named, [name]).items():
        context.register_summarizer(tool, summarizer)
    delta = context.delta_for({"tool": name, **project.redact.clean(delta_input(run))})
    summary = delta.add_action.summary if delta.add_action else ""
    result = msgspec.structs.replace(
        run.result,
        summary=run.result.summary or summary,
        knowledge_delta=run.result.knowledge_delta or delta.update_knowledge or {},
    )
    return msgspec.structs.replace(run, result=result)


def _tool(
    project: ProjectRecords, folder: Path, request: ToolRequest
) -> tuple[Tool, dict[str, Summarizer]]:
    """Return the requested tool and its own summarizer, keyed by its name."""
    functions = project.operations.host_functions
    for name in request.grants:
        if name not in functions:
            meant, names = did_you_mean(name, functions), ", ".join(sorted(functions))
            raise UsageError(f"unknown host function {name!r}{meant}", hint=f"available: {names}")
    if request.name.endswith(".pym"):
        path = folder / request.name
        try:
            grants = tuple(functions[name] for name in request.grants)
            tool = Tool(name=path.stem, description="", script=load(path), grants=grants)
        except NotFound as error:
            raise UsageError(error.message, hint=error.hint) from None
        return tool, {}
    known = tool_named(project.root, project.operations, request.name)
    definition = known.definition
    tool = Tool(
        name=definition.name,
        description=definition.description,
        script=load(known.path),
        grants=tuple(functions[name] for name in (*definition.grants, *request.grants)),
    )
    if definition.summarizer is None:
        return tool, {}
    summarizer = summarizer_named(
        definition.summarizer, tool.name, lambda name: load(known.folder / name)
    )
    return tool, {tool.name: summarizer}


def _inputs(script: Script, words: Sequence[str]) -> dict[str, Any]:
    specs = {spec.name: spec for spec in script.inputs}
    given: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise UsageError(f"invalid input {word!r}", hint="use NAME=VALUE")
        given[name] = _value(specs[name], text) if name in specs else text
    # nodes are looked up in the copy, which is not made for invalid inputs
    found = {name: {} if isinstance(value, _TargetName) else value for name, value in given.items()}
    problem = script.arguments.problem(found)
    if problem:
        raise UsageError(problem, hint=_inputs_hint(script))
    return given


def _value(spec: InputSpec, text: str) -> Any:
    """Convert the string given for an input to a value.

    If the input accepts `text` as a string, or if `text` is not valid JSON, the value is the string
    itself. Otherwise the string is parsed as JSON. A `target` is the name of a file or node.
    """
    if spec.schema and validator(spec.schema).is_valid(text):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        is_target = spec.name == _TARGET and (spec.schema or ":" in text)
        return _TargetName(text) if is_target else text


def _inputs_hint(script: Script) -> str:
    named = [
        spec.name if spec.required else f"{spec.name} (default: {spec.default!r})"
        for spec in script.inputs
    ]
    return f"inputs of this tool: {', '.join(named)}" if named else "this tool has no inputs"


def _target(named: _TargetName, workspace: Workspace) -> dict[str, Any]:
    """Return the `target` input for a node, or for all nodes of a file."""
    path, _, qualname = named.removeprefix("node:").rpartition(":")
    is_file = not path
    if is_file:
        path, qualname = qualname, MODULE
    key = node_key(escape_path(path), qualname)
    try:
        source = workspace.read(path)
    except HostError as error:
        raise UsageError(error.message, hint="use PATH or PATH:QUALNAME") from None
    node = _node(path, key, source)
    if node is None:
        hint = "use PATH or PATH:QUALNAME, for example src/a.py:f or src/a.py:__module__"
        raise UsageError(f"no node {str(named)!r}", hint=hint)
    job = Job(
        run_id="",
        agent_id="",
        operation="",
        node_id=key,
        node_type=node.node_type,
        node_name=node.qualname,
        node_summary="",
        path=path,
        qualname=node.qualname,
        nodes=() if is_file else None,
    )
    return locate_target(job, source, None)


def _node(path: str, key: NodeKey, source: bytes | None) -> Node | None:
    """Return a node of a file. Raises UsageError if the file does not exist or does not parse."""
    if source is None:
        raise UsageError(f"no file {path!r}", hint="use PATH or PATH:QUALNAME")
    module = parse_module(path, source)
    if not isinstance(module, Module):
        raise UsageError(f"{path} does not parse: {module.detail}")
    return find_node(module, key)


@contextmanager
def _workspace(project: Project) -> Iterator[Workspace]:
    name = f"tool-{next_run_id(project)}"
    try:
        _, base = copy_project(project, name)
        with SlotDriver(base, project.cache / "slots").open() as workspace:
            yield workspace
    finally:
        try_remove_tree(project.cache / "bases" / name)


def _diffs(workspace: Workspace) -> Iterator[str]:
    for path, state in workspace.snapshot().items():
        known = workspace.base.files.get(path)
        yield diff(
            path,
            workspace.base_bytes(path),
            workspace.read(path),
            mode=state.mode,
            old_mode=None if known is None else known.mode,
        )


def _trial(project: Project, name: str, run: ToolRun, diffs: tuple[str, ...] = ()) -> ToolTrial:
    clean = project.redact.clean
    run = msgspec.structs.replace(run, printed=clean(run.printed))
    return ToolTrial(name=name, run=run, document=clean(run.document()), diffs=clean(diffs))
