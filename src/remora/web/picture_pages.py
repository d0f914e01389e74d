"""Pages with a picture of a run: its timeline, and the map of the project."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from remora.pictures.picture_style import PICTURE_STYLE
from remora.pictures.timeline import timeline
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import read_run
from remora.runs.records.run_times import read_job_times
from remora.usecases.report_pictures import map_of_project
from remora.web.agent_records import Records
from remora.web.html_responses import page
from remora.web.page_links import PageLinks


def timeline_page(records: Records, request: Request) -> Response:
    """Return when the jobs of a run ran, and what they waited for."""
    trace = records.project().trace
    run = run_named(trace, request.path_params["run"])
    times = read_job_times(trace, run)
    drawn = timeline(times, href=lambda time: PageLinks().agent(time.agent_id))
    return page("picture.html", run=run, title="Timeline", drawn=drawn, nothing="No job has begun.")


def map_page(records: Records, request: Request) -> Response:
    """Return the map of the project as it is now, with the findings that a run left."""
    project = records.whole_project()
    view = read_run(project, run_named(project.trace, request.path_params["run"]))
    drawn = map_of_project(records.invocation, project, view, href=node_address)
    return page(
        "picture.html",
        run=view.run_id,
        title="Project map",
        drawn=drawn,
        nothing="There is nothing to draw. Run `remora hub index` to build the index.",
    )


def picture_style(_records: Records, _request: Request) -> Response:
    """Return the style sheet of pictures."""
    return Response(PICTURE_STYLE, media_type="text/css")


def node_address(key: str) -> str:
    """Return the address of a node's page."""
    return f"/nodes/{quote(key)}"
