"""The streams that the trace commands use."""

from pathlib import Path
from typing import TYPE_CHECKING

from remora.errors import NotFound

if TYPE_CHECKING:  # each trace command needs one or none of these
    from remora.trace.trace_folder import TraceFolder


def path_of(folder: "TraceFolder", name: str) -> Path:
    """Return the path of the stream of the agent or run with the full ID `name`.

    Raises NotFound if there is no such stream.
    """
    try:
        return folder.existing_agent(name)
    except NotFound:
        return folder.existing_run(name)
