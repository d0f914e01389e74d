"""Whether tests can be run at all: the project's interpreter is started once, and pytest imported."""

import functools

from remora.tools.host.place import Place
from remora.tools.host.proving.outside import carry_out
from remora.workspaces.interpreters import ProjectPython
from remora.workspaces.removal import private_folder


@functools.cache  # an interpreter is tried once per command, whoever asks
def require_pytest(python: ProjectPython) -> None:
    """Raises HostError where the interpreter does not start, or has no pytest."""
    with private_folder("remora-ready-") as empty:
        carry_out(Place(empty, python), [], [])
