"""Interpreter for the project's code: consent and location."""

from collections.abc import Iterable
from pathlib import Path

from remora.agents.definition.agent import Agent
from remora.bootstrap.invocation import Invocation
from remora.config.schema import Config
from remora.errors import HostError, UsageError
from remora.runs.project import Project
from remora.sandbox.interpreters import ProjectPython, is_activated
from remora.sandbox.isolation import best_level


def python_for(
    invocation: Invocation, project: Project, agents: Iterable[Agent]
) -> ProjectPython | None:
    """Return the interpreter, or None if no agent needs it.

    Raises whatever `interpreter_for` raises.
    """
    checks = project.operations.checks_run_code
    if not any(_runs_code(agent, checks) for agent in agents):
        return None
    return interpreter_for(invocation, project.root, project.config)


def interpreter_for(invocation: Invocation, root: Path, config: Config) -> ProjectPython:
    """Return the project's interpreter without running any project code.

    Raises UsageError if consent or an interpreter is missing, and ConfigError if the configured
    interpreter does not exist.
    """
    from remora.hub.observe.observed_run import check_consent, check_home, find_interpreter

    allowed = config.workspace.allow_unsandboxed
    check_consent(best_level(), allowed=allowed)
    home = Path(invocation.environ.get("HOME", "/nonexistent")).resolve()
    check_home(root, home, allowed=allowed)
    active = invocation.environ.get("VIRTUAL_ENV") or invocation.environ.get("CONDA_PREFIX")
    python = find_interpreter(root, config.python, active)
    activated = is_activated(python, root, active)
    return ProjectPython(python=python, root=root, trusted=allowed, activated=activated)


def require_tests(python: ProjectPython | None) -> None:
    """Raise UsageError if the interpreter cannot run tests.

    Does nothing if `python` is None, because then no agent needs an interpreter.
    """
    if python is None:
        return
    from remora.operations.test.runner.parent import require_pytest

    try:
        require_pytest(python)
    except HostError as error:
        hint = "an interpreter is needed only by operations that run tests, such as `-o test`"
        raise UsageError(error.message, hint=hint) from error


def check_interpreter(invocation: Invocation, root: Path, config: Config) -> None:
    """Find the interpreter and check that it can run tests.

    Raises whatever `interpreter_for` and `require_tests` raise.
    """
    require_tests(interpreter_for(invocation, root, config))


def _runs_code(agent: Agent, checks: frozenset[str]) -> bool:
    parts = [
        *agent.tools.values(),
        *agent.context,
        *([agent.candidates] if agent.candidates else []),
    ]
    granted = (function for part in parts for function in part.grants)
    return any(function.runs_project_code for function in granted) or not checks.isdisjoint(
        agent.definition.verify
    )
