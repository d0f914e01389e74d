"""Validation of agent definitions, individually and as a set."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path

from remora.agents.definition.agent import (
    Agent,
    agent_folders,
    load_agent,
    load_agents,
    no_agent,
    read_definitions,
)
from remora.agents.definition.agent_yaml import OWN_FOLDER
from remora.agents.definition.scripts import script_warnings
from remora.config.schema import ModelConfig
from remora.errors import ConfigError, RemoraError
from remora.models.provider import check_agent_model
from remora.operations.base import Operations
from remora.pym import ScriptChecks


@dataclass(frozen=True, kw_only=True)
class CheckedDefinition:
    """Result of checking one `agent.yaml`. `error` is empty if the file is valid.

    `warnings` contains unused grants, externals that are declared but not granted, and a model
    without an address.
    """

    path: Path
    name: str = ""
    error: str = ""
    hint: str = ""
    warnings: tuple[str, ...] = ()


def check_definitions(
    root: Path,
    operations: Operations,
    paths: Sequence[Path] = (),
    model: ModelConfig | None = None,
) -> list[CheckedDefinition]:
    """Check the definitions at `paths`, or all definitions under `root` if `paths` is empty.

    Each path is a folder, a file, or the name of an agent, its operation or its folder. A
    definition is loaded as a run loads it, and the scripts of a built-in agent are checked only if
    it is named. `model` is that section of the configuration; without
    it, the names of models are not checked.
    """
    checker = _Checker(root, operations, ScriptChecks(built_in=bool(paths)), model)
    if paths:
        return [checker.named(path) for path in paths]
    folders = agent_folders(root, operations)
    checked = [checker.check(folder, builtin=builtin, alone=False) for folder, builtin in folders]
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
    model: ModelConfig | None

    def check(self, folder: Path, *, builtin: bool, alone: bool = True) -> CheckedDefinition:
        """Check the definition in `folder`.

        If `alone` is true, its names are checked against those of the project's other agents.
        """
        path = folder / "agent.yaml"
        try:
            agent = load_agent(folder, self.operations, builtin=builtin, checks=self.scripts)
            if alone and (builtin or folder.parent == self.root / OWN_FOLDER):
                names = agent.definition.name, agent.definition.operation
                load_agents(self.root, self.operations, names, checks=self.scripts)
        except RemoraError as error:
            return CheckedDefinition(path=path, error=error.message, hint=error.hint)
        return CheckedDefinition(
            path=path,
            name=agent.definition.name,
            warnings=(
                *self._model_warnings(agent),
                *script_warnings(folder, agent.definition, agent.scripts),
            ),
        )

    def _model_warnings(self, agent: Agent) -> Iterator[str]:
        """Yield a warning if the agent's model has no address. `--model` may still give one."""
        if self.model is not None:
            try:
                check_agent_model(self.model, agent.definition.model)
            except ConfigError as error:
                yield f"{agent.folder / 'agent.yaml'}: {error.message}"

    def named(self, path: Path) -> CheckedDefinition:
        """Check the folder or file at `path`.

        If `path` does not exist, it is used as an agent name.
        """
        if path.exists() and (path.name == "agent.yaml" or (path / "agent.yaml").exists()):
            return self._at(path.parent if path.is_file() else path)
        found = read_definitions(self.root, self.operations)[0]
        for folder, builtin, definition in found:
            if str(path) in (definition.name, definition.operation):
                return self.check(folder, builtin=builtin)
        folders = dict(agent_folders(self.root, self.operations))
        for folder, builtin in folders.items():
            if str(path) == folder.name:  # a definition that cannot be read has no other name
                return self.check(folder, builtin=builtin)
        own = self.root / OWN_FOLDER / path.name  # reports that agent.yaml is missing
        if path.is_dir() or (len(path.parts) == 1 and own.is_dir()):
            return self._at(path if path.is_dir() else own)
        known = {definition.operation for _, _, definition in found}
        error = no_agent(str(path), known | {folder.name for folder in folders})
        return CheckedDefinition(path=path, error=error.message, hint=error.hint)

    def _at(self, folder: Path) -> CheckedDefinition:
        """Check the definition in `folder`. A folder of the project is checked as a run does."""
        folders = agent_folders(self.root, self.operations)
        real = realpath(folder)
        known = next((one for one in folders if realpath(one[0]) == real), None)
        builtin = known is not None and known[1]
        return self.check(known[0] if known else folder, builtin=builtin)
