"""The state of the project at the top of the home page: its change, its work, its model, its Hub."""

from collections import Counter
from itertools import chain

from starlette.requests import Request
from starlette.responses import Response

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import RemoraError
from remora.hub.process import control
from remora.ids import split_node_key
from remora.models.provider import embedded_model, used_provider
from remora.runs.project import Project
from remora.runs.records.run_listing import list_run_lines
from remora.usecases.hub.target import HubTarget, hub_paths_of
from remora.usecases.judge.change_trees import unnamed_change
from remora.usecases.judge.judge_change import last_judgement
from remora.usecases.look_at_project import plans_of_some
from remora.web.html_responses import page

_MOST_FILES, _MOST_RUNS = 8, 50
"""Files with work that are named, and newest runs that are read for the verdicts on a model."""


def project_part(invocation: Invocation, _request: Request) -> Response:
    """Return the state of the project, which takes about a second to find."""
    project = open_project(invocation)
    work, problem = Counter[tuple[str, str]](), None
    try:
        for plan in plans_of_some(invocation, project):
            for job in plan.jobs:
                work[job.path, job.operation] += plan.amounts.get(job.agent_id, 1)
            for name, reasons in plan.left_nodes.items():
                work.update((split_node_key(key)[0], name) for key in chain(*reasons.values()))
    except RemoraError as error:
        problem = error
    files: dict[str, dict[str, int]] = {}
    for (path, name), number in work.most_common():
        files.setdefault(path, {})[name] = number
    model = _model(invocation, project)
    newest = list_run_lines(project.trace, slice(-_MOST_RUNS, None)) if model else []
    runs = [run for run in newest if run.model == model]
    return page(
        "project.html",
        change=unnamed_change(project.root),
        last=last_judgement(project),
        files=sorted(files.items(), key=lambda item: -sum(item[1].values()))[:_MOST_FILES],
        more=max(0, len(files) - _MOST_FILES),
        problem=problem,
        model=model,
        accepted=sum(run.accepted for run in runs),
        decided=sum(run.accepted + run.rejected + run.reverted for run in runs),
        runs=len(runs),
        most_runs=_MOST_RUNS,
        hub=control.status(hub_paths_of(invocation, HubTarget())),
    )


def _model(invocation: Invocation, project: Project) -> str:
    """Return the name of the model that a run would use, or nothing if rules decide alone."""
    settings, cache = project.config.model, invocation.folders.cache
    match used_provider(settings, cache=cache):
        case "none":
            return ""
        case "embedded":
            return embedded_model(settings, cache).name
    return settings.name or ""
