"""Share files of recorded projects, and the lines in them."""

import gzip
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.runs.project import Project
from remora.web.share.share_file import share_agent

_LINES = re.compile(r'(<script type="application/octet-stream" data-stream="NAME"[^>]*>)([^<]*)')


def records_of(root: Path, home: Path) -> Project:
    """Return a project's records, as read by a user with this home."""
    environ = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home)}
    return open_project(Invocation(environ=environ, folder=root))


def shared_agent(root: Path, home: Path, agent_id: str) -> str:
    """Return the share file of an agent."""
    return share_agent(records_of(root, home), agent_id).html


def lines_in(html: str, name: str) -> bytes:
    """Return the lines of a stream in a share file."""
    found = re.search(_LINES.pattern.replace("NAME", name), html)
    assert found is not None
    return gzip.decompress(b64decode(found[2]))


def change_lines(html: str, name: str, change: Callable[[bytes], bytes]) -> str:
    """Return a share file with other lines in place of those of a stream."""
    packed = b64encode(gzip.compress(change(lines_in(html, name)), mtime=0)).decode()
    return re.sub(_LINES.pattern.replace("NAME", name), lambda m: m[1] + packed, html)
