"""Validation of agent definitions, individually and as a set."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import realpath
from pathlib import Path

from remora.agents.definition.agent import (
    Agent,
    FoundAgent,
    agent_folders,
    load_agent,
    name_in_use,
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
    """Result of checking one `agent.yaml`."""

    path: Path
    name: str = ""
    error: str = ""
    """Empty if the file is valid."""
    hint: str = ""
    warnings: tuple[str, ...] = ()
    """Unused grants, vague inputs, and a model without an address."""


def check_definitions(
    root: Path,
    operations: Operations,
    paths: Sequence[Path] = (),
    model: ModelConfig | None = None,
) -> list[CheckedDefinition]:
    """Check the definitions at `paths`, or all definitions under `root` if `paths` is empty.

    Each path is a folder, a file, or the name of an agent, its operation or its folder. A
    definition is loaded as a run loads it, and the scripts of a built-in agent are checked only if
    it is named. `model` is that section of the configuration; without it, the names of models are
    not checked.
    """
    checker = _Checker(root, operations, ScriptChecks(built_in=bool(paths)), model)
    if paths:
        return [checked for path in paths for checked in checker.check_named(path)]
    folders = agent_folders(root, operations)
    return [checker.check(folder, builtin=builtin) for folder, builtin in folders]


@dataclass(frozen=True)
class _Checker:
    """Checks the agent definitions under a root."""

    root: Path
    operations: Operations
    scripts: ScriptChecks
    model: ModelConfig | None
    """The configured model, or None to check no names of models."""

    @cached_property
    def _valid(self) -> list[FoundAgent]:
        return read_definitions(self.root, self.operations)[0]

    @cached_property
    def _name_errors(self) -> Mapping[Path, ConfigError]:
        """The errors of agents whose name or operation an earlier agent has, by folder."""
        errors: dict[Path, ConfigError] = {}
        claimed: set[str] = set()
        for folder, _, definition in self._valid:
            if error := name_in_use(folder, definition, claimed):
                errors[folder] = error
            claimed |= {definition.name, definition.operation}
        return errors

    def check(self, folder: Path, *, builtin: bool) -> CheckedDefinition:
        """Check the definition in `folder`, and its names against those of earlier agents."""
        path = folder / "agent.yaml"
        try:
            agent = load_agent(folder, self.operations, builtin=builtin, checks=self.scripts)
            if folder in self._name_errors:
                raise self._name_errors[folder]
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

    def check_named(self, path: Path) -> list[CheckedDefinition]:
        """Check the folder or file at `path`, and the project's agents that use the same names.

        If `path` does not exist, it is used as an agent name.
        """
        if path.exists() and (path.name == "agent.yaml" or (path / "agent.yaml").exists()):
            return self._check_at(path.parent if path.is_file() else path)
        for folder, builtin, definition in self._valid:
            if str(path) in (definition.name, definition.operation):
                return self._check_with_others(folder, builtin=builtin)
        folders = dict(agent_folders(self.root, self.operations))
        for folder, builtin in folders.items():
            if str(path) == folder.name:  # a definition that cannot be read has no other name
                return [self.check(folder, builtin=builtin)]
        own = self.root / OWN_FOLDER / path.name  # reports that agent.yaml is missing
        if path.is_dir() or (len(path.parts) == 1 and own.is_dir()):
            return self._check_at(path if path.is_dir() else own)
        known = {definition.operation for _, _, definition in self._valid}
        error = no_agent(str(path), known | {folder.name for folder in folders})
        return [CheckedDefinition(path=path, error=error.message, hint=error.hint)]

    def _check_at(self, folder: Path) -> list[CheckedDefinition]:
        """Check the definition in `folder`. A folder of the project is checked as a run does."""
        folders = agent_folders(self.root, self.operations)
        real = realpath(folder)
        known, builtin = next(
            (pair for pair in folders if realpath(pair[0]) == real), (folder, False)
        )
        return self._check_with_others(known, builtin=builtin)

    def _check_with_others(self, folder: Path, *, builtin: bool) -> list[CheckedDefinition]:
        """Check a definition, and the project's others that use its name or operation."""
        names = {at: {definition.name, definition.operation} for at, _, definition in self._valid}
        others = [
            at
            for at, is_builtin, _ in self._valid
            if not is_builtin and at != folder and names[at] & names.get(folder, set())
        ]
        checked = [self.check(other, builtin=False) for other in others]
        return [self.check(folder, builtin=builtin), *checked]
