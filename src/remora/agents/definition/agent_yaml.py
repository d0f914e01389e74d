"""The schema of `agent.yaml`, and functions to read it."""

import string
from collections.abc import Collection, Iterator
from os.path import realpath
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from remora.agents.builtin_tools import BUILTIN
from remora.config.field_docstrings import describe_fields
from remora.config.messages import describe_errors
from remora.config.schema import ModelName
from remora.config.yaml_positions import KeyPath, ParsedYaml, place_of, read_yaml_file
from remora.errors import ConfigError, RemoraError
from remora.json_schema import DIALECT, validator_class
from remora.memory.canonical import canonical
from remora.operations.base import Operations
from remora.text import did_you_mean

GOAL_FIELDS = frozenset({"node_name", "node_id", "node_type", "path", "operation"})
SUMMARIZERS = ("tool", "linter", "default")
OWN_FOLDER = Path(".remora") / "agents"
Role = Literal["tool", "context", "candidates", "summarizer", "needs", "verify"]
_EXTENSION_LIMIT = 2048
_INSTRUCTIONS = 600
"""Characters, about 120 tokens: each request shows them."""
_SIZE_LIMIT = 32 * 1024
_MOST_TOOLS = 40
_MOST_PARTS = 20


def _script_path(value: str) -> str:
    if not value.endswith(".pym"):
        raise ValueError("expected the path of a .pym script")
    return value


def _known(value: str, names: Collection[str] | None) -> str:
    if names is not None and value not in names and not is_script(value):
        raise ValueError(f"expected one of {', '.join(names)}, or the path of a .pym script")
    return value


def is_script(value: str) -> bool:
    """Return True if `value` is the path of a script, not a built-in name."""
    return value.endswith(".pym")


def _checks(value: Any) -> Any:
    if value == []:  # nothing would be checked, and the change would count as verified
        raise ValueError("expected at least one check (default: parses and own_lines_only)")
    return value


def _goal(value: str) -> str:
    fields = ", ".join(f"{{{name}}}" for name in sorted(GOAL_FIELDS))
    try:
        parts = list(string.Formatter().parse(value))
    except ValueError as error:
        raise ValueError(f"expected a string with no fields other than {fields}") from error
    # field names only: a format such as {path:>999999999} would exhaust memory
    if any(
        name is not None and (name not in GOAL_FIELDS or form or conversion)
        for _, name, form, conversion in parts
    ):
        raise ValueError(f"expected a string with no fields other than {fields}")
    return value


def _extension(value: dict[str, Any]) -> dict[str, Any]:
    check_schema = validator_class().check_schema
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        check_schema(value)
    except SchemaError as error:
        raise ValueError(f"expected a JSON Schema (2020-12): {error.message}") from error
    if len(canonical(value)) > _EXTENSION_LIMIT:
        raise ValueError("expected a JSON Schema of at most 2 KB")
    resolver = Registry().with_resource("", DRAFT202012.create_resource(value)).resolver()
    for reference in _references(value):
        if not reference.startswith("#"):
            raise ValueError("expected a JSON Schema without references to other documents")
        try:
            resolver.lookup(reference)
        except Unresolvable as error:
            message = "expected a JSON Schema without unresolved references"
            raise ValueError(f"{message}, got {reference}") from error
    return value


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (str(value[key]) for key in ("$ref", "$dynamicRef") if key in value)
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _references(inner)


def _as_reference(value: Any) -> Any:
    return {"script": value} if isinstance(value, str) else value


NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,50}$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
ToolName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
ScriptPath = Annotated[str, AfterValidator(_script_path)]


class _YamlModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class ScriptReference(_YamlModel):
    script: ScriptPath
    """Path of a `.pym` file, relative to the agent's folder."""
    grants: list[str] = []
    """Names of the host functions that the script may call."""


class ToolDefinition(ScriptReference):
    name: ToolName
    """Tool name shown to the model."""
    description: str = ""
    """One-sentence description shown to the model."""
    summarizer: Annotated[str, AfterValidator(lambda value: _known(value, SUMMARIZERS))] | None = (
        None
    )
    """Summarizer for results without a summary: tool, linter, default or a `.pym` script."""
    only_suggested: bool = False
    """Declare the tool to the model only in turns that suggest it."""


class ConstraintsDefinition(_YamlModel):
    safety: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=60)]], Field(max_length=_MOST_PARTS)
    ] = []
    """Rules such as `no_eval_exec`. The packet shows them before the names of the checks."""


Reference = Annotated[ScriptReference, BeforeValidator(_as_reference)]


class AgentDefinition(_YamlModel):
    """The definition of an agent: its goal, tools, candidates and checks."""

    name: Name
    """The agent's name."""
    operation: Name
    """Name of the operation for `analyze -o`. Use one word for what the agent does to a node."""
    goal: Annotated[str, AfterValidator(_goal)]
    """Goal that is shown to the model. It may contain fields such as `{node_name}` and `{path}`."""
    instructions: Annotated[str, Field(max_length=_INSTRUCTIONS)] = ""
    """Rules for the model: the task, and what counts as good. They are part of each request."""
    tools: Annotated[list[ToolDefinition], Field(max_length=_MOST_TOOLS)]
    """Tools that the model may call, in addition to the built-in ones (`recall`, `undo`, `leave`,
    `submit_result`)."""
    description: str = ""
    """Description shown to users."""
    node_types: list[Literal["function", "class", "module"]] = ["function", "class", "module"]
    """Types of nodes that the agent works on."""
    unit: Literal["node", "file"] = "node"
    """What one job works on: a single node, or all selected nodes of a file."""
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Maximum number of turns. If null, `runner.max_turns` is used."""
    max_submissions: Annotated[int, Field(ge=1, le=20)] = 3
    """How often a model may submit, if the checks of its submissions fail."""
    decisions: Literal["rules", "model", "free"] = "model"
    """`rules` if no model may decide, even if the user chooses so; `free` if no guided one may."""
    model: ModelName | None = None
    """Name of the model. If null, the configured model is used."""
    needs: Annotated[
        str, AfterValidator(lambda value, info: _known(value, info.context and info.context.needs))
    ] = "always"
    """Selects the nodes to work on: ruff, docstring, test, always, or a path to a `.pym` script."""
    context: Annotated[list[Reference], Field(max_length=_MOST_PARTS)] = []
    """Scripts that run once, before the first turn."""
    candidates: Reference | None = None
    """Script that returns the valid next actions."""
    packet_extension: Annotated[dict[str, Any], AfterValidator(_extension)] | None = None
    """JSON Schema of the packet's `extensions`."""
    constraints: ConstraintsDefinition = ConstraintsDefinition.model_construct()
    """Rules for the agent. Only `verify` enforces anything."""
    verify: Annotated[
        list[
            Annotated[
                str,
                AfterValidator(
                    lambda name, info: _known(name, info.context and info.context.checks)
                ),
            ]
        ],
        Field(min_length=1, max_length=_MOST_PARTS),
        BeforeValidator(_checks),
    ] = ["parses", "own_lines_only"]
    """Checks that a submission must pass: names of built-in checks, or paths of `.pym` scripts."""


class ScriptUse(NamedTuple):
    """A reference to a script."""

    where: KeyPath
    """The position of its path in the definition."""
    role: Role
    script: str
    """The path of the script, relative to the agent's folder."""
    grants: tuple[str, ...] = ()


def read_definition(path: Path, operations: Operations | None) -> AgentDefinition:
    """Read and validate the agent definition in `path`.

    If `operations` is None, the names and scripts that it refers to are not checked.
    Raises ConfigError, with the position as `FILE:LINE:COLUMN`, if the definition is invalid.
    """
    if not path.is_file():
        raise ConfigError(
            f"{path}: no such file",
            hint="an agent is a folder with an agent.yaml; create one "
            "with `remora agents new NAME`",
        )
    _check_place(path)
    marked = read_yaml_file(path)
    try:
        definition = AgentDefinition.model_validate(marked.value, context=operations)
    except ValidationError as error:
        message = "\n".join(describe_errors(error, AgentDefinition, marked))
        raise ConfigError(message, hint="`remora schema agent` lists every key") from error
    if operations is None:
        return definition
    seen: set[str] = set()
    for index, tool in enumerate(definition.tools):
        if tool.name in seen or tool.name in BUILTIN:
            place = marked.places[("tools", index, "name")]
            why = "is built in" if tool.name in BUILTIN else "is defined twice"
            raise ConfigError(f"{place}: the tool {tool.name} {why}", hint="choose another name")
        seen.add(tool.name)
    for use in script_uses(definition):
        _check_script(path.parent, use.script, place_of(marked, use.where)[1])
    for use in script_uses(definition):
        _check_grants(use, marked, operations)
    return definition


def stated_operation(path: Path) -> str | None:
    """Return the operation of a definition that may be invalid, or None if it cannot be read."""
    try:
        _check_place(path)
        return TypeAdapter(Name).validate_python(read_yaml_file(path).value["operation"])
    except (RemoraError, OSError, LookupError, TypeError, ValidationError):
        return None


def script_uses(definition: AgentDefinition) -> Iterator[ScriptUse]:
    """Yield each reference to a script, in the order of the definition's parts."""
    for index, tool in enumerate(definition.tools):
        yield ScriptUse(("tools", index, "script"), "tool", tool.script, tuple(tool.grants))
        if tool.summarizer not in (None, *SUMMARIZERS):
            yield ScriptUse(("tools", index, "summarizer"), "summarizer", str(tool.summarizer))
    for index, part in enumerate(definition.context):
        yield ScriptUse(("context", index, "script"), "context", part.script, tuple(part.grants))
    last = definition.candidates
    if last is not None:
        yield ScriptUse(("candidates", "script"), "candidates", last.script, tuple(last.grants))
    if is_script(definition.needs):
        yield ScriptUse(("needs",), "needs", definition.needs)
    for index, check in enumerate(definition.verify):
        if is_script(check):
            yield ScriptUse(("verify", index), "verify", check)


def _check_place(path: Path) -> None:
    """Reject a definition that links to a file outside the project, or that is too large.

    Error messages quote the file. Without this check, an agent in a cloned repository could expose
    the user's other files.
    """
    outer = path.parent
    if Path(*outer.parent.parts[-2:]) == OWN_FOLDER:
        outer = path.parents[3]  # the project's root
    for upto, what in ((path.parent, "its folder"), (outer, "the project")):
        if not Path(realpath(path)).is_relative_to(realpath(upto)):
            raise ConfigError(
                f"{path} is a link to a file outside {what}", hint="replace the link with the file"
            )
    if path.is_file() and path.stat().st_size > _SIZE_LIMIT:
        limit = _SIZE_LIMIT // 1024
        raise ConfigError(f"{path}: larger than {limit} KiB", hint="move code into .pym scripts")


def _check_script(folder: Path, script: str, place: str) -> None:
    path = folder / script
    if not Path(realpath(path)).is_relative_to(realpath(folder)):
        raise ConfigError(
            f"{place}: {script} is outside the agent's folder",
            hint="put scripts next to agent.yaml",
        )
    if not path.is_file():
        raise ConfigError(
            f"{place}: no file {script} next to agent.yaml", hint="correct the path or add the file"
        )


def _check_grants(use: ScriptUse, marked: ParsedYaml, operations: Operations) -> None:
    known = operations.host_functions
    for index, name in enumerate(use.grants):
        if name not in known:
            place = place_of(marked, (*use.where[:-1], "grants", index))[1]
            raise ConfigError(
                f"{place}: unknown host function {name}{did_you_mean(name, known)}",
                hint=f"host functions: {', '.join(sorted(known))}",
            )


def definition_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `agent.yaml`."""
    describe_fields(_YamlModel)
    return {**DIALECT, **AgentDefinition.model_json_schema()}
