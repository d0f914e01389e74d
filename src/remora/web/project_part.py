"""The state of the project at the top of the home page: its change, its work, its model, its Hub."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain
from time import time

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.files.project_files import project_files
from remora.hub.file_stamp import stamp_of
from remora.hub.process import control
from remora.ids import split_node_key
from remora.models.provider import embedded_model, used_provider
from remora.runs.project import Project
from remora.runs.records.run_listing import list_run_lines
from remora.tools.kept_answers import KeptAnswers
from remora.usecases.hub.target import HubTarget, hub_paths_of
from remora.usecases.judge.change_trees import unnamed_change
from remora.usecases.judge.judge_change import last_judgement
from remora.usecases.look_at_project import plans_of_some
from remora.version import __version__
from remora.web.html_responses import page, render
from remora.web.verdict_queue import VerdictQueue

_MOST_FILES, _MOST_RUNS = 8, 50
"""Files with work that are named, and newest runs that are read for the verdicts on a model."""


def project_part(invocation: Invocation, queue: VerdictQueue, _request: Request) -> Response:
    """Return what is known of the project at once."""
    project = open_project(invocation)
    model = _model(invocation, project)
    newest = list_run_lines(project.trace, slice(-_MOST_RUNS, None))
    runs = [run for run in newest if run.model == model]
    return page(
        "project.html",
        newest=newest[::-1],
        change=unnamed_change(project.root),
        judging=[round(time() - verdict.begun / 1000) for verdict in queue.of_run("")[0]],
        last=last_judgement(project),
        model=model,
        decided=sum(run.accepted + run.rejected + run.reverted for run in runs),
        runs=runs,
        most_runs=_MOST_RUNS,
        hub=control.status(hub_paths_of(invocation, HubTarget())),
    )


def work_part(invocation: Invocation, _request: Request) -> Response:
    """Return where work is left, which takes seconds to find, and is kept until a file changes."""
    project = open_project(invocation)
    paths = project_files(project.root, include=project.config.workspace.include).paths
    stamps = [(path, *stamp_of((project.root / path).lstat())) for path in paths]
    question = repr((__version__, project.config, _model(invocation, project), stamps)).encode()
    kept = KeptAnswers(project.cache / "answers" / "work")
    return HTMLResponse(kept.answer(question, lambda: _work(invocation, project, paths)))


def _work(invocation: Invocation, project: Project, paths: Iterable[str]) -> bytes:
    work = defaultdict[str, Counter[str]](Counter)
    for plan in plans_of_some(invocation, project):
        for job in plan.jobs:
            work[job.path][job.operation] += plan.amounts.get(job.agent_id, 1)
        for name, reasons in plan.left_nodes.items():
            for key in chain(*reasons.values()):
                work[split_node_key(key)[0]][name] += 1
    files = sorted(work.items(), key=lambda item: -item[1].total())
    values = {"files": files[:_MOST_FILES], "more": files[_MOST_FILES:]}
    has_code = any(path.endswith(".py") for path in paths)
    return render("work.html", has_code=has_code, **values).encode()


def _model(invocation: Invocation, project: Project) -> str:
    """Return the name of the model that a run would use, or nothing if rules decide alone."""
    settings, cache = project.config.model, invocation.folders.cache
    provider = used_provider(settings, cache=cache)
    if provider == "embedded":
        return embedded_model(settings, cache).name
    return "" if provider == "none" else settings.name or ""
