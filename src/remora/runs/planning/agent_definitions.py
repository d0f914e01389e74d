"""Which definitions of agents are right: each by itself, and beside the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from remora.agents.definition.agent import agent_folders, load_agent, load_agents, no_agent
from remora.agents.definition.agent_yaml import OWN_FOLDER
from remora.agents.definition.scripts import script_warnings
from remora.errors import RemoraError
from remora.pym import ScriptChecks


@dataclass(frozen=True, kw_only=True)
class Checked:
    """One `agent.yaml`; `error` is empty where all is right, else says where it is wrong.

    `warnings` are about what a script declares and will not get (calling it is denied), and what
    is granted that none asks for.
    """

    path: Path
    name: str = ""
    error: str = ""
    hint: str = ""
    warnings: tuple[str, ...] = ()


def check_definitions(root: Path, paths: Sequence[Path] = ()) -> list[Checked]:
    """The named definitions (folders, files, names), else every one that `root` has."""
    checks = ScriptChecks()
    if paths:
        return [_named(root, path, checks) for path in paths]
    checked = [_check(folder, checks, builtin=builtin) for folder, builtin in agent_folders(root)]
    if not any(one.error for one in checked):
        checked = _beside_each_other(root, checked, checks)
    return checked


def _beside_each_other(root: Path, checked: list[Checked], checks: ScriptChecks) -> list[Checked]:
    """Two agents of one name or operation: told once, at the definition that the error names."""
    try:
        load_agents(root, checks=checks)
    except RemoraError as error:
        guilty = next((one for one in checked if str(one.path) in error.message), checked[-1])
        wrong = Checked(path=guilty.path, name=guilty.name, error=error.message, hint=error.hint)
        return [wrong if one is guilty else one for one in checked]
    return checked


def _check(folder: Path, checks: ScriptChecks, *, builtin: bool) -> Checked:
    path = folder / "agent.yaml"
    try:
        agent = load_agent(folder, builtin=builtin, checks=checks)
    except RemoraError as error:
        return Checked(path=path, error=error.message, hint=error.hint)
    return Checked(
        path=path,
        name=agent.definition.name,
        warnings=tuple(script_warnings(folder, agent.definition, agent.scripts)),
    )


def _named(root: Path, path: Path, checks: ScriptChecks) -> Checked:
    """A folder or file that is there, else the agent of that name."""
    if path.exists() and (path.name == "agent.yaml" or (path / "agent.yaml").exists()):
        return _check(path.parent if path.is_file() else path, checks, builtin=False)
    folders = {folder.name: (folder, builtin) for folder, builtin in agent_folders(root)}
    own = root / OWN_FOLDER / path.name  # one without an agent.yaml is told so
    if str(path) in folders:
        folder, builtin = folders[str(path)]
        return _check(folder, checks, builtin=builtin)
    if path.is_dir() or (len(path.parts) == 1 and own.is_dir()):
        return _check(path if path.is_dir() else own, checks, builtin=False)
    error = no_agent(str(path), folders)
    return Checked(path=path, error=error.message, hint=error.hint)
