"""The settings of `remora watch`, and a hash of all that its results depend on."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path

import msgspec

from remora.agents.definition.agent_yaml import OWN_FOLDER
from remora.bootstrap.invocation import Invocation
from remora.errors import HostError
from remora.regular_file import open_regular
from remora.runs.project import Project
from remora.tools.host.ruff.config_files import settings_for
from remora.tools.tree import ToolTree
from remora.version import __version__


@dataclass(frozen=True, kw_only=True)
class WatchSettings:
    """What a watch does.

    `delay` is the number of seconds without changes before an analysis. `max_jobs` is the maximum
    number of jobs of one run. `concurrency` is the maximum number of concurrent jobs, unless the
    configuration allows fewer.
    """

    operations: tuple[str, ...]
    delay: float
    max_jobs: int
    concurrency: int


def settings_hash(invocation: Invocation, settings: WatchSettings, project: Project) -> str:
    """Return a hash of what the result of an analysis depends on, apart from the code.

    These are the version, the operations, the configuration, the flags, ruff's configuration in the
    root, and the definitions of the project's agents.
    """
    on = [__version__, settings.operations, project.config.model_dump(mode="json")]
    ruff: object = None
    with suppress(HostError):  # jobs report what is wrong with it
        ruff = settings_for(ToolTree(project.root), "")
    agents = [*_agent_files(project.root / OWN_FOLDER)]
    content = [*on, {**invocation.flags}, ruff, agents]
    return sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


def _agent_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the hash of each file of the agents."""
    for path in sorted(folder.rglob("*")):
        with suppress(OSError), open_regular(path) as file:
            name = path.relative_to(folder).as_posix().encode("utf-8", "backslashreplace")
            yield name.decode(), file_digest(file, "sha256").hexdigest()
