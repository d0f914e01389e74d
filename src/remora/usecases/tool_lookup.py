"""Finds the tools of agents by name, and checks the scripts of tools."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path

import msgspec

from remora.agents.definition.agent import FoundAgent, read_definitions
from remora.agents.definition.agent_yaml import ToolDefinition, script_uses
from remora.errors import NotFound, UsageError
from remora.operations.base import Operations
from remora.pym import Script, ScriptChecks
from remora.text import did_you_mean, some_of

_LISTED = 20
"""Tools that a hint lists (decision)."""


@dataclass(frozen=True, kw_only=True)
class DeclaredTool:
    """A tool that an agent declares."""

    agent: str
    """The agent's name."""
    builtin: bool
    """True if the agent is part of Remora."""
    folder: Path
    """The agent's folder."""
    definition: ToolDefinition

    @property
    def name(self) -> str:
        """The name with that of the agent, which no other tool has."""
        return f"{self.agent}/{self.definition.name}"

    @property
    def path(self) -> Path:
        """The tool's script."""
        return self.folder / self.definition.script


class ScriptCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of checking a script file."""

    path: str
    ok: bool
    """True if there are no errors."""
    errors: list[str]
    """The errors, each of which begins with `FILE.pym:LINE: `."""


def known_tools(root: Path, operations: Operations) -> list[DeclaredTool]:
    """Return all tools, built-in agents first. Raises ConfigError if a definition is invalid."""
    found, wrong = read_definitions(root, operations)
    if wrong:
        raise wrong[0]
    return _tools(found)


def tool_named(root: Path, operations: Operations, name: str) -> DeclaredTool:
    """Return the tool called `tool` or `agent/tool`. Errors in other agents are ignored.

    Raises NotFound if the name is unknown, and UsageError if it is ambiguous.
    """
    found, wrong = read_definitions(root, operations)
    tools = _tools(found)
    meant = [tool for tool in tools if name in (tool.name, tool.definition.name)]
    if len(meant) > 1 and name != meant[0].name:
        several = ", ".join(tool.name for tool in meant)
        raise UsageError(
            f"{name!r} is ambiguous: {len(meant)} tools have this name",
            hint=f"use one of: {several}",
        )
    if meant:
        return meant[0]
    if wrong:  # the tool may belong to this agent
        raise wrong[0]
    names = [*(tool.name for tool in tools), *(tool.definition.name for tool in tools)]
    listed = some_of(sorted(tool.name for tool in tools), _LISTED)
    hint = f"available: {listed}; `remora tools list` describes them"
    raise NotFound(f"no tool {name!r}{did_you_mean(name, names)}", hint=hint)


def check_scripts(root: Path, operations: Operations, paths: Sequence[Path]) -> list[ScriptCheck]:
    """Check each script, using the grants in the agents' definitions.

    Raises UsageError if a file does not exist.
    """
    for path in paths:
        if not path.is_file():
            raise UsageError(f"{path} is not a file", hint="use the path of a `.pym` file")
    found, _ = read_definitions(root, operations)
    granted, checks = _grants(found), ScriptChecks()
    return [
        check_script(path, checks, operations.host_functions, grants=granted.get(realpath(path)))
        for path in paths
    ]


def check_script(
    path: Path, checks: ScriptChecks, offered: Collection[str], *, grants: Collection[str] | None
) -> ScriptCheck:
    """Check a script. Raises NotFound if the file does not exist.

    `offered` contains the names of all known externals. If `grants` is None, all known externals
    count as granted.
    """
    script, problems = checks.examine(path)
    errors = [problem.message for problem in problems]
    if script:
        errors += _denied_externals(script, offered, offered if grants is None else grants)
    return ScriptCheck(path=str(path), ok=not errors, errors=errors)


def _denied_externals(
    script: Script, known: Collection[str], granted: Collection[str]
) -> Iterator[str]:
    for spec in script.externals:
        if spec.name not in known:
            yield f"{script.label}:{spec.line}: there is no host function `{spec.name}`"
        elif spec.name not in granted:
            yield f"{script.label}:{spec.line}: `{spec.name}` is not granted"


def _tools(found: Iterable[FoundAgent]) -> list[DeclaredTool]:
    return [
        DeclaredTool(agent=definition.name, builtin=builtin, folder=folder, definition=tool)
        for folder, builtin, definition in found
        for tool in definition.tools
    ]


def _grants(found: Iterable[FoundAgent]) -> dict[str, set[str]]:
    """Return the grants that all uses of a script have in common, keyed by the script's path."""
    granted: dict[str, set[str]] = {}
    for folder, _, definition in found:
        for use in script_uses(definition):
            path = realpath(folder / use.script)
            grants = set(use.grants)
            granted[path] = granted.get(path, grants) & grants
    return granted
