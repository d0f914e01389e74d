"""The badge of a stream: whether its bytes are what was recorded, computed when it is shown."""

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from remora.trace.verify.folder_check import verify_all
from remora.web.agent_records import Records
from remora.web.html_responses import page


def badge_part(records: Records, request: Request) -> Response:
    """Return the badge of an agent's or a run's stream, from all its bytes."""
    return page("badge.html", **_verified(records, request.path_params["stream"]))


def badge_page(records: Records, request: Request) -> Response:
    """Return the badge as a page, for browsers without scripts."""
    return page("verified.html", **_verified(records, request.path_params["stream"]))


def _verified(records: Records, name: str) -> dict[str, Any]:
    report = verify_all(records.project().trace, name).streams[0]
    return {"report": report, "checked": datetime.now(UTC).isoformat()}
