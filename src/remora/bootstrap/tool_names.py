"""The tools that the agents of a project have, found by name; no script is loaded for that."""

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path

from remora.agents.definition.agent import Found, read_definitions
from remora.agents.definition.agent_yaml import ToolDefinition, uses
from remora.code.syntax.node_patterns import nearest
from remora.errors import NotFound, UsageError
from remora.operations.base import Operations
from remora.pym import ScriptChecks
from remora.tools.script_check import ScriptCheck, check_script

_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class KnownTool:
    """A tool as its agent's definition declares it."""

    agent: str
    builtin: bool
    folder: Path
    definition: ToolDefinition

    @property
    def name(self) -> str:
        """`agent/tool`: no other has it."""
        return f"{self.agent}/{self.definition.name}"

    @property
    def path(self) -> Path:
        """Its script."""
        return self.folder / self.definition.script


def known_tools(root: Path, operations: Operations) -> list[KnownTool]:
    """All tools, the built-in agents' first. Raises ConfigError for a definition that is wrong."""
    found, wrong = read_definitions(root, operations)
    if wrong:
        raise wrong[0]
    return _tools(found)


def tool_named(root: Path, operations: Operations, name: str) -> KnownTool:
    """Return the tool that `tool` or `agent/tool` means; other agents may be wrong.

    Raises NotFound for an unknown name, UsageError for one that several tools have.
    """
    found, wrong = read_definitions(root, operations)
    tools = _tools(found)
    meant = [tool for tool in tools if name in (tool.name, tool.definition.name)]
    if len(meant) > 1 and name != meant[0].name:
        several = ", ".join(tool.name for tool in meant)
        raise UsageError(
            f"{name!r} is the name of {len(meant)} tools", hint=f"say which: {several}"
        )
    if meant:
        return meant[0]
    if wrong:  # it may be one of that agent's
        raise wrong[0]
    names = [*(tool.name for tool in tools), *(tool.definition.name for tool in tools)]
    near = " or ".join(nearest(name, names, 2))
    meant_perhaps = f"did you mean {near}? " if near else ""
    listed = ", ".join(sorted(tool.name for tool in tools)[:_LISTED])
    more = f" and {len(tools) - _LISTED} more" if len(tools) > _LISTED else ""
    hint = f"{meant_perhaps}there is {listed}{more}; `remora tools list` describes them"
    raise NotFound(f"no tool {name!r}", hint=hint)


def check_scripts(root: Path, operations: Operations, paths: Sequence[Path]) -> list[ScriptCheck]:
    """The check of each script, with the grants that an agent's definition gives it.

    Raises UsageError where there is no such file.
    """
    for path in paths:
        if not path.is_file():
            raise UsageError(f"{path} is no file", hint="name `.pym` files")
    found, _ = read_definitions(root, operations)
    granted, checks = _grants(found), ScriptChecks()
    return [
        check_script(path, checks, operations.host_functions, grants=granted.get(realpath(path)))
        for path in paths
    ]


def _tools(found: Found) -> list[KnownTool]:
    return [
        KnownTool(agent=definition.name, builtin=builtin, folder=folder, definition=tool)
        for folder, builtin, definition in found
        for tool in definition.tools
    ]


def _grants(found: Found) -> dict[str, set[str]]:
    """By script, what every use of it may call."""
    granted: dict[str, set[str]] = {}
    for folder, _, definition in found:
        for use in uses(definition):
            path = realpath(folder / use.script)
            grants = set(use.grants)
            granted[path] = granted.get(path, grants) & grants
    return granted
