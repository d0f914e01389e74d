"""The page of a run's timeline."""

from starlette.requests import Request
from starlette.responses import Response

from remora.pictures.picture_style import PICTURE_STYLE
from remora.pictures.timeline import timeline
from remora.runs.records.name_lookup import run_named
from remora.runs.records.run_times import read_job_times
from remora.web.agent_records import Records
from remora.web.html_responses import page
from remora.web.page_links import PageLinks


def timeline_page(records: Records, request: Request) -> Response:
    """Return when the jobs of a run ran, and what they waited for."""
    trace = records.project().trace
    run = run_named(trace, request.path_params["run"])
    times = read_job_times(trace, run)
    drawn = timeline(times, href=lambda time: PageLinks().agent(time.agent_id))
    return page("timeline.html", run=run, drawn=drawn)


def picture_style(_records: Records, _request: Request) -> Response:
    """Return the style sheet of pictures."""
    return Response(PICTURE_STYLE, media_type="text/css")
