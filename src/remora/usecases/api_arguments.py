"""Validates the arguments of functions in `usecases.api`, and opens the project they refer to."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import model_flags, open_project
from remora.bootstrap.operations import BUILT_IN
from remora.config.schema import NO_MODEL
from remora.errors import UsageError
from remora.operations.base import Operations
from remora.runs.project import Project
from remora.runs.review.journals import recover
from remora.usecases.analyze.run_limits import RunBudget


def open_with(
    root: str | Path | Project | None,
    flags: Mapping[str, Any] | None = None,
    known: Operations | None = None,
    paths: Sequence[Path] = (),
) -> tuple[Invocation, Project]:
    """Open the project, and finish or undo an interrupted accept.

    If `root` is a Project, it is used unchanged unless `flags` or `known` require other settings.
    """
    invocation = invocation_for(root, flags, known)
    same = known is None and all(value is None for value in (flags or {}).values())
    project = root if same and isinstance(root, Project) else open_project(invocation, paths)
    recover(project)
    return invocation, project


def invocation_for(
    root: str | Path | Project | None,
    flags: Mapping[str, Any] | None = None,
    known: Operations | None = None,
) -> Invocation:
    """Return the invocation of this process. If `root` is a Project, use its operations."""
    if isinstance(root, Project):
        known, root = known or root.operations, root.root
    try:
        folder = Path.cwd()
    except FileNotFoundError:
        if root is None or not Path(root).is_absolute():
            raise UsageError("the current directory no longer exists", hint="pass `root`") from None
        folder = Path(root)
    return Invocation(
        environ=os.environ,
        folder=folder,
        root=None if root is None else Path(root),
        flags=flags or {},
        operations=known or BUILT_IN,
    )


def run_flags(  # noqa: PLR0913 (one parameter for each option)
    model: str | None,
    allow_unsandboxed: bool,
    select: Sequence[str] = (),
    allow_addresses: Sequence[str] = (),
    decisions: str | None = None,
    opening: bool = True,
    gates: bool = True,
) -> dict[str, Any]:
    """Return the settings that the arguments override.

    A value of None does not change the configured value. A model that is given decides.
    """
    return {
        "runner.decisions": decisions or (None if model in (None, NO_MODEL) else "model"),
        "runner.opening": None if opening else False,
        "gates.time_s": None if gates else 0,
        "workspace.allow_unsandboxed": True if allow_unsandboxed else None,
        "operations.lint.select": _selectors(select) or None,
        "model.allow_addresses": allow_addresses or None,
        **model_flags(model),
    }


def _selectors(select: Sequence[str]) -> list[str]:
    from remora.tools.host.ruff.rule_choice import selectors_in

    try:
        return selectors_in(select)
    except ValueError as error:
        raise UsageError(f"select: {error}", hint="`ruff rule --all` lists them") from None


def as_texts(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the given strings as a tuple. A single string becomes a tuple with one item."""
    return (given,) if isinstance(given, str) else tuple(given)


def positive(name: str, value: int | None) -> int | None:
    """Return `value`. Raises UsageError if it is less than 1."""
    if value is not None and value < 1:
        raise UsageError(f"{name} must be at least 1, not {value}")
    return value


def run_budget(
    seconds: float | None, requests: int | None = None, tokens: int | None = None
) -> RunBudget:
    """Return the budget of a run. Raises UsageError if a limit is less than 1."""
    return RunBudget(
        seconds=seconds,
        requests=positive("max_requests", requests),
        tokens=positive("max_tokens", tokens),
    )
