"""Hub facts for the agents of a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from remora.agents.inputs.hub_pull import NodeFacts, NoHub
from remora.bootstrap.invocation import Invocation
from remora.errors import OutsideError
from remora.hub.file_limits import FileRules
from remora.hub.process.hub_paths import HubPaths, hub_paths
from remora.runs.project import Project

TURN_S = 0.25
"""Maximum seconds that a turn waits for facts: a small part of the model's time."""
EXACT_S = 30.0
"""Maximum for reproducible runs, whose packets must not depend on the machine's load."""
_READY_S = 2.0


@dataclass(frozen=True, kw_only=True)
class HubFactSource:
    """The target and the settings of the Hub client."""

    root: Path
    enabled: Literal["auto"] | bool
    places: HubPaths
    files: FileRules
    deadline: float

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[NodeFacts]:
        """Open the source of facts for the agents of a run.

        Raises OutsideError if the configuration requires a running daemon but none is running.
        """
        if self.enabled is False:
            yield NoHub()
            return
        from remora.hub.client import HubClient  # imports the analysis

        async with HubClient(
            self.root, places=self.places, deadline=self.deadline, files=self.files
        ) as client:
            if self.enabled is True and not await client.is_served(_READY_S):
                raise OutsideError(
                    f"hub.enabled is true, but no daemon is running for {self.root}",
                    hint="run `remora hub start`, or set hub.enabled: auto to work without it",
                )
            yield client


def fact_source(invocation: Invocation, project: Project) -> HubFactSource:
    """Return the fact source that the configuration selects."""
    config = project.config
    return HubFactSource(
        root=project.root,
        enabled=config.hub.enabled,
        places=hub_paths(invocation.folders, project.root),
        files=FileRules(tuple(config.exclude), config.hub.file_limit),
        deadline=EXACT_S if config.model.exact else TURN_S,
    )
