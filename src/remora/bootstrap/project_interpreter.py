"""Interpreter for the project's code: consent, location and checks."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from remora.agents.definition.agent import Agent
from remora.bootstrap.invocation import Invocation
from remora.config.schema import Config
from remora.errors import HostError, RemoraError, UsageError
from remora.runs.project import Project, ProjectRecords
from remora.sandbox.interpreters import ProjectPython, find_interpreter, is_activated
from remora.sandbox.isolation import best_level, check_consent, check_home
from remora.tools.tree import ToolTree


def python_for(
    invocation: Invocation,
    project: Project,
    agents: Iterable[Agent],
    *,
    may_be_missing: bool = False,
) -> ProjectPython | None:
    """Return the project's interpreter, or None if no agent needs it.

    An interpreter whose packages are only read, or that only tests what a model edits, may be
    missing, and so may any other if `may_be_missing` is true. Raises whatever `interpreter_for`
    raises.
    """
    checks = project.operations.checks_run_code
    known = tuple(agents)
    if not may_be_missing and any(_runs_code(agent, checks) for agent in known):
        return interpreter_for(invocation, project.root, project.config)
    if not may_be_missing and not any(_uses_python(agent, project) for agent in known):
        return None
    try:
        return _find_python(invocation, project.root, project.config)
    except RemoraError:
        return None


def python_for_some(
    invocation: Invocation, project: Project, agents: Sequence[Agent], *, plan_only: bool
) -> tuple[ProjectPython | None, frozenset[str]]:
    """Return the project's interpreter, and the operations that cannot run without it.

    Raises whatever `python_for` raises if there is no interpreter and all agents need it.
    """
    try:
        return python_for(invocation, project, agents, may_be_missing=plan_only), frozenset()
    except UsageError:
        checks = project.operations.checks_run_code
        needing = {agent.definition.operation for agent in agents if _runs_code(agent, checks)}
        if len(needing) == len(agents):
            raise
        return None, frozenset(needing)


def interpreter_for(invocation: Invocation, root: Path, config: Config) -> ProjectPython:
    """Return the project's interpreter without running any project code.

    Raises UsageError if consent or an interpreter is missing, and ConfigError if the configured
    interpreter does not exist.
    """
    allowed = config.workspace.allow_unsandboxed
    check_consent(best_level(), allowed=allowed)
    home = Path(invocation.environ.get("HOME", "/nonexistent")).resolve()
    check_home(root, home, allowed=allowed)
    return _find_python(invocation, root, config)


def _find_python(invocation: Invocation, root: Path, config: Config) -> ProjectPython:
    allowed = config.workspace.allow_unsandboxed
    active = invocation.environ.get("VIRTUAL_ENV") or invocation.environ.get("CONDA_PREFIX")
    python = find_interpreter(root, config.python, active)
    home = Path(invocation.environ.get("HOME", "/nonexistent")).resolve()
    return ProjectPython(
        python=python,
        root=root,
        trusted=allowed,
        activated=is_activated(python, root, active),
        sees_home=home.is_relative_to(root),
    )


def checked_python_for(
    invocation: Invocation, project: Project, agents: Collection[Agent]
) -> ProjectPython | None:
    """Return the interpreter that agents need, if any, after checking that it can run them.

    Raises whatever `python_for` and `check_interpreter` raise.
    """
    python = python_for(invocation, project, agents)
    check_interpreter(project, python, agents)
    return python


def check_interpreter(
    project: ProjectRecords, python: ProjectPython | None, agents: Iterable[Agent]
) -> None:
    """Raise UsageError if the interpreter cannot run what the agents need.

    Does nothing if `python` is None, because then no agent needs an interpreter.
    """
    if python is None:
        return
    for agent in agents:
        used = {*agent.definition.verify, *(grant.name for grant in agent.grants)}
        try:
            project.operations.check_interpreter(python, used)
        except HostError as error:
            hint = f"`-o {agent.definition.operation}` needs it; other operations can run without"
            raise UsageError(error.message, hint=hint) from error


def check_tests_start(
    project: ProjectRecords, base: Path, python: ProjectPython | None, agents: Iterable[Agent]
) -> None:
    """Raise UsageError if the project's tests cannot start, for agents that run them.

    `base` is a copy of the project, which does not change.
    """
    for agent in agents if python is not None else ():
        used = {*agent.definition.verify, *(grant.name for grant in agent.grants)}
        try:
            project.operations.check_project(ToolTree(base, python), used)
        except HostError as error:
            command = f"{python.python} -m pytest --collect-only" if python is not None else ""
            hint = f"make `{command}` work, for example by installing what the tests need"
            raise UsageError(error.message, hint=error.hint or hint) from error


def _uses_python(agent: Agent, project: Project) -> bool:
    """Return True if an agent reads the interpreter's packages, or may test a model's edits."""
    by_model = project.config.runner.decisions == "model"
    tries = not project.operations.checks_try_code.isdisjoint(agent.definition.verify)
    return (by_model and tries) or any(grant.reads_packages for grant in agent.grants)


def _runs_code(agent: Agent, checks: frozenset[str]) -> bool:
    return any(function.runs_project_code for function in agent.grants) or not checks.isdisjoint(
        agent.definition.verify
    )
