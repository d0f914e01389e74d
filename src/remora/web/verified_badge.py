"""The badge of a stream: whether its bytes are what was recorded, computed when it is shown."""

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from remora.trace.verify.folder_check import verify_all
from remora.web.agent_records import Records
from remora.web.html_responses import page


def badge_part(records: Records, request: Request) -> Response:
    """Return the badge of an agent's or a run's stream, from all its bytes."""
    name = request.path_params["stream"]
    report = verify_all(records.project().trace, name).streams[0]
    now = datetime.now(UTC).isoformat()
    return page("badge.html", report=report, checked=now)
