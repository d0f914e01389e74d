"""Run tests under observation: consent, interpreter, files, and storing what was observed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from remora.bootstrap.hub_index_writer import open_store
from remora.bootstrap.hub_target import HubTarget, places_of
from remora.bootstrap.invocation import Caller, open_config
from remora.errors import HubLocked, RemoraError
from remora.hub.members.members import Members
from remora.hub.observe.observed_run import (
    SECONDS,
    Asked,
    Ran,
    check_consent,
    check_home,
    find_interpreter,
    run_tests,
)
from remora.hub.observe.spool import collect, leave, spool_folder
from remora.hub.observed_links import Observation
from remora.hub.process.hub_paths import HubPlaces, hub_places
from remora.hub.process.request import ask
from remora.hub.protocol import Invalidate
from remora.hub.query.fresh_read import read_all
from remora.hub.query.snapshots import MemorySnapshot
from remora.runs.project import Project
from remora.sandbox.interpreters import is_activated
from remora.sandbox.isolation import best_level, require_level

_ANSWER_S = 10.0


@dataclass(frozen=True, kw_only=True)
class ObserveWish:
    """What was said on the command line. `stdout`: a descriptor for the tests' output, if not
    ours."""

    hub: HubTarget
    words: Sequence[str]
    seconds: float = SECONDS
    stdout: int | None = None


@dataclass(frozen=True, kw_only=True)
class Observed:
    """How the tests ended, and what is known now. `waits`: the daemon is to store it."""

    ran: Ran
    waits: bool


class Prepared:
    """All that is decided before anything of the project's is started."""

    def __init__(self, caller: Caller, wish: ObserveWish) -> None:
        """Raises UsageError without consent or pytest, ConfigError."""
        self.places = places_of(caller, wish.hub)
        self._config = open_config(caller, self.places.root)
        self._wish = wish
        self._folder = caller.folder.resolve()
        workspace = self._config.workspace
        require_level(workspace.require_isolation)
        self.level = best_level()
        check_consent(self.level, allowed=workspace.allow_unsandboxed)
        home = Path(caller.environ.get("HOME", "/nonexistent")).resolve()
        check_home(self.places.root, home, allowed=workspace.allow_unsandboxed)
        active = caller.environ.get("VIRTUAL_ENV") or caller.environ.get("CONDA_PREFIX")
        self.python = find_interpreter(self.places.root, self._config.python, active)
        self._activated = is_activated(self.python, self.places.root, active)

    def run(self) -> Observed:
        """Run the tests, and keep what was seen. Raises HostError, DiskError."""
        asked = Asked(
            words=self._wish.words,
            folder=self._folder,
            seconds=self._wish.seconds,
            stdout=self._wish.stdout,
            trusted=self._config.workspace.allow_unsandboxed or self._activated,
        )
        ran = run_tests(self.places.root, self.python, asked, self._look)
        return Observed(ran=ran, waits=_keep(self.places, ran.read.observation))

    def _look(self, paths: frozenset[str]) -> MemorySnapshot:
        """The files that belong to the project, as they are now: no index is needed for it."""
        limit = self._config.hub.file_limit
        members = Members(self.places.root, self._config.exclude, file_limit=limit)
        return MemorySnapshot(read_all(self.places.root, members.belonging(paths), limit=limit))


def keep_witnessed(caller: Caller, project: Project, observation: Observation | None) -> str:
    """Let the Hub have what accepted tests were seen to run; why it cannot, or nothing.

    A project whose configuration asks no Hub keeps nothing.
    """
    if observation is None or not observation.tests or project.config.hub.enabled is False:
        return ""
    try:
        _keep(hub_places(caller.folders, project.root), observation)
    except RemoraError as error:
        return f"what the tests ran is not kept for the Hub: {error.message}"
    return ""


def _keep(places: HubPlaces, observation: Observation) -> bool:
    """Store it, if this process may write there; True: it waits for the one that may."""
    spool = spool_folder(places.db)
    leave(spool, observation)
    try:
        with open_store(places) as store:
            collect(spool, store.record_observed)
    except HubLocked:
        _notify(places)
        return True
    return False


def _notify(places: HubPlaces) -> None:
    """Let the daemon look at what waits; else it does so at its next sweep."""
    try:
        ask(places.socket, Invalidate(path="."), seconds=_ANSWER_S)
    except RemoraError:
        return
