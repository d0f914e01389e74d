"""The earlier run of a sweep on a project, since which only changes need work."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from remora.errors import RemoraError, StreamDamaged
from remora.files.git import git_output
from remora.runs.execution.shard_task import code_digest
from remora.runs.planning.run_request import RunRequest
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.results import RunView, read_run
from remora.runs.records.run_listing import list_run_lines
from remora.statuses import OVER, WITHOUT_RESULT
from remora.usecases.sweep.repository_plan import PlanTask

SWEEP = "sweep"
"""Key of a sweep's settings in the recorded configuration of its runs."""
_MODEL = ("provider", "name", "renderer", "decoding", "samples", "max_requests")
_TOOLS = ("pyproject.toml", "ruff.toml", ".ruff.toml", "setup.cfg", "tox.ini")
_CONFIGURATION = ("remora.yaml", ".remora", *(f":(top,glob)**/{name}" for name in _TOOLS))
"""Files and folders that change what is proposed for unchanged code. Tools also read files of
folders above and below the project's root."""
_RECORDED = frozenset({"model.name", "model.provider", "operations.lint.select"})
"""Flags that a sweep records, without consent and addresses."""


class EarlierSweep(NamedTuple):
    """A run that has worked on all nodes of `commit`, except those in `unfinished`.

    `left_out` contains the operations that could not run without an environment.
    """

    run_id: str
    commit: str
    unfinished: frozenset[str]
    left_out: tuple[str, ...] = ()

    def covers(self, commit: str | None) -> bool:
        """Return True if the run leaves nothing to do for an unchanged work tree at `commit`."""
        return self.commit == commit and not self.unfinished


def sweep_settings(task: PlanTask, operations: Sequence[str]) -> dict[str, Any]:
    """Return what a run records about the sweep it belongs to.

    `code` identifies the code that planned it. It is empty if only some nodes were selected.
    `request`, `flags` and `full` allow another process to plan the repositories that were not
    planned. Consent and addresses are not recorded.
    """
    request = task.request
    whole = not request.node and request.changed is None and request.max_nodes is None
    return {
        "repository": task.repository.name,
        "operations": list(operations),
        "code": code_digest() if whole else "",
        "request": msgspec.to_builtins(request),
        "flags": recorded_flags(task.flags),
        "full": task.full,
    }


def recorded_request(settings: Mapping[str, Any]) -> RunRequest:
    """Return the request in the recorded settings of a sweep.

    Raises StreamDamaged if it is not a request of this version.
    """
    try:
        return msgspec.convert(settings["request"], RunRequest)
    except (KeyError, msgspec.ValidationError) as error:
        raise StreamDamaged(f"the recorded request of the sweep cannot be read: {error}") from None


def recorded_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that are recorded. A record of another user could contain others."""
    return {name: value for name, value in flags.items() if name in _RECORDED}


def find_earlier_sweep(
    project: Project, request: RunRequest, own: Mapping[str, Any], commit: str | None
) -> EarlierSweep | None:
    """Return the newest ended run of a sweep with the same settings, or None.

    `own` is the result of `sweep_settings`, and `commit` is the current commit. A run on
    uncommitted changes does not count, and neither does one before a change of the project's
    configuration.
    """
    if commit is None or not own["code"]:
        return None
    wanted = _compared(
        {
            **project.config.model_dump(mode="json"),
            "unsafe_fixes": request.unsafe_fixes,
            "strengthen": request.strengthens,
            "max_turns": request.max_turns,
            SWEEP: own,
        }
    )
    for line in reversed(list_run_lines(project.trace)):
        if line.status not in OVER:
            continue
        try:
            view = read_run(project, line.run_id)
        except RemoraError:
            continue
        found = _as_earlier(view, wanted)
        if found is not None:
            return found if _has_same_configuration(project, found.commit, commit) else None
    return None


def _compared(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded settings that decide what is proposed."""
    names = ("operations", "exclude", "unsafe_fixes", "strengthen", "max_turns")
    model, sweep = config.get("model") or {}, config.get(SWEEP) or {}
    return {
        **{name: config.get(name) for name in names},
        **{f"{SWEEP}.{name}": sweep.get(name) for name in ("repository", "operations", "code")},
        **{f"model.{name}": model.get(name) for name in _MODEL},
        "has_server": bool(model.get("base_url")),
    }


def _as_earlier(view: RunView, wanted: Mapping[str, Any]) -> EarlierSweep | None:
    base = view.start.base
    commit = base.get("commit")
    if not isinstance(commit, str) or base.get("files") or view.damaged:
        return None
    if _compared(view.start.config) != wanted:
        return None
    repeated = [
        job for job in view.jobs if job.status in WITHOUT_RESULT or job.stop_reason == "model_error"
    ]
    keys = frozenset(key for job in repeated for key in (job.node_id, *(job.nodes or ())))
    left_out = view.start.config[SWEEP].get("left_out", ())
    return EarlierSweep(view.run_id, commit, keys, tuple(left_out))


def _has_same_configuration(project: ProjectRecords, earlier: str, commit: str) -> bool:
    try:
        changed = git_output(
            project.root, "diff", "--name-only", earlier, commit, "--", *_CONFIGURATION
        )
    except RemoraError:  # the commit is gone
        return False
    return not changed
