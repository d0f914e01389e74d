"""Validation of agent definitions, individually and as a set."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from remora.agents.definition.agent import agent_folders, load_agent, load_agents, no_agent
from remora.agents.definition.agent_yaml import OWN_FOLDER
from remora.agents.definition.scripts import script_warnings
from remora.errors import RemoraError
from remora.operations.base import Operations
from remora.pym import ScriptChecks


@dataclass(frozen=True, kw_only=True)
class CheckedDefinition:
    """Result of checking one `agent.yaml`. `error` is empty if the file is valid.

    `warnings` contains unused grants, and externals that are declared but not granted.
    """

    path: Path
    name: str = ""
    error: str = ""
    hint: str = ""
    warnings: tuple[str, ...] = ()


def check_definitions(
    root: Path, operations: Operations, paths: Sequence[Path] = ()
) -> list[CheckedDefinition]:
    """Check the definitions at `paths`, or all definitions under `root` if `paths` is empty.

    Each path is a folder, a file or an agent name.
    """
    checker = _Checker(root, operations, ScriptChecks())
    if paths:
        return [checker.named(path) for path in paths]
    folders = agent_folders(root, operations)
    checked = [checker.check(folder, builtin=builtin) for folder, builtin in folders]
    if not any(one.error for one in checked):
        checked = _check_together(checker, checked)
    return checked


def _check_together(
    checker: "_Checker", checked: list[CheckedDefinition]
) -> list[CheckedDefinition]:
    """Report agents that share a name or an operation.

    The error is attached to the definition whose path it mentions, or else to the last definition.
    """
    try:
        load_agents(checker.root, checker.operations, checks=checker.scripts)
    except RemoraError as error:
        guilty = next((one for one in checked if str(one.path) in error.message), checked[-1])
        wrong = CheckedDefinition(
            path=guilty.path, name=guilty.name, error=error.message, hint=error.hint
        )
        return [wrong if one is guilty else one for one in checked]
    return checked


@dataclass(frozen=True)
class _Checker:
    """Checks the agent definitions under a root.

    `scripts` limits the total time spent checking scripts.
    """

    root: Path
    operations: Operations
    scripts: ScriptChecks

    def check(self, folder: Path, *, builtin: bool) -> CheckedDefinition:
        path = folder / "agent.yaml"
        try:
            agent = load_agent(folder, self.operations, builtin=builtin, checks=self.scripts)
        except RemoraError as error:
            return CheckedDefinition(path=path, error=error.message, hint=error.hint)
        return CheckedDefinition(
            path=path,
            name=agent.definition.name,
            warnings=tuple(script_warnings(folder, agent.definition, agent.scripts)),
        )

    def named(self, path: Path) -> CheckedDefinition:
        """Check the folder or file at `path`.

        If `path` does not exist, it is used as an agent name.
        """
        if path.exists() and (path.name == "agent.yaml" or (path / "agent.yaml").exists()):
            return self.check(path.parent if path.is_file() else path, builtin=False)
        known = agent_folders(self.root, self.operations)
        folders = {folder.name: (folder, builtin) for folder, builtin in known}
        own = self.root / OWN_FOLDER / path.name  # reports that agent.yaml is missing
        if str(path) in folders:
            folder, builtin = folders[str(path)]
            return self.check(folder, builtin=builtin)
        if path.is_dir() or (len(path.parts) == 1 and own.is_dir()):
            return self.check(path if path.is_dir() else own, builtin=False)
        error = no_agent(str(path), folders)
        return CheckedDefinition(path=path, error=error.message, hint=error.hint)
