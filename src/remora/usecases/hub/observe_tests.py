"""Runs tests under observation and stores what was observed."""

from collections.abc import Sequence
from dataclasses import dataclass

from remora.bootstrap.invocation import Invocation, open_config
from remora.bootstrap.project_interpreter import interpreter_for
from remora.errors import HubLocked, RemoraError
from remora.hub.file_reader import read_all
from remora.hub.members.members import Members
from remora.hub.observe.observation_queue import drain, enqueue, spool_folder
from remora.hub.observe.observed_run import ObservedRun, PytestOptions, run_tests
from remora.hub.observed_links import Observation
from remora.hub.process.control import ask
from remora.hub.process.hub_paths import HubPaths, hub_paths
from remora.hub.protocol import Invalidate
from remora.hub.query.snapshots import MemorySnapshot
from remora.runs.project import Project
from remora.sandbox.isolation import best_level, require_level
from remora.usecases.hub.index_writer import open_store
from remora.usecases.hub.target import HubTarget, hub_paths_of

_ANSWER_S = 10.0


@dataclass(frozen=True, kw_only=True)
class ObserveOptions:
    """The command-line options of `hub observe`.

    `stdout` is the file descriptor to which the output of the tests is copied. `colors`
    lets pytest color it.
    """

    hub: HubTarget
    words: Sequence[str]
    seconds: float
    stdout: int
    colors: bool


@dataclass(frozen=True, kw_only=True)
class Observed:
    """The result of running the tests.

    `waits` is True if the daemon still has to store the observation.
    """

    ran: ObservedRun
    waits: bool


class PreparedTests:
    """A test run with validated settings. No project code runs before `run` is called."""

    def __init__(self, invocation: Invocation, options: ObserveOptions) -> None:
        """Check the configuration and the user's consent, and find the project's interpreter.

        Raises UsageError or ConfigError.
        """
        self.places = hub_paths_of(invocation, options.hub)
        self._config = open_config(invocation, self.places.root)
        self._options = options
        self._folder = invocation.folder.resolve()
        require_level(self._config.workspace.require_isolation)
        self._python = interpreter_for(invocation, self.places.root, self._config)
        self.level = best_level()

    def run(self) -> Observed:
        """Run the tests and store the observation.

        Raises HostError if the tests cannot be run, and DiskError if the observation cannot be
        stored.
        """
        options = PytestOptions(
            words=self._options.words,
            folder=self._folder,
            seconds=self._options.seconds,
            stdout=self._options.stdout,
            colors=self._options.colors,
            trusted=self._python.trusted or self._python.activated,
        )
        ran = run_tests(self.places.root, self._python.python, options, self._look)
        return Observed(ran=ran, waits=_store(self.places, ran.read.observation))

    def _look(self, paths: frozenset[str]) -> MemorySnapshot:
        limit = self._config.hub.file_limit
        members = Members(self.places.root, self._config.exclude, file_limit=limit)
        return MemorySnapshot(read_all(self.places.root, members.belonging(paths), limit=limit))


def store_observed(
    invocation: Invocation, project: Project, observation: Observation | None
) -> str:
    """Store the observations made by the accepted tests in the Hub.

    Returns an error message, or an empty string if there was no error. Does nothing if the Hub is
    disabled in the configuration.
    """
    if observation is None or not observation.tests or project.config.hub.enabled is False:
        return ""
    try:
        _store(hub_paths(invocation.folders, project.root), observation)
    except RemoraError as error:
        return f"the observed test calls could not be stored in the Hub: {error.message}"
    return ""


def _store(places: HubPaths, observation: Observation) -> bool:
    """Store an observation. Return True if another process has to store it later."""
    spool = spool_folder(places.db)
    enqueue(spool, observation)
    try:
        with open_store(places) as store:
            drain(spool, store.record_observed)
    except HubLocked:
        _notify(places)
        return True
    return False


def _notify(places: HubPaths) -> None:
    """Ask the daemon to collect observations now. If this fails, its next sweep collects them."""
    try:
        ask(places, Invalidate(path="."), seconds=_ANSWER_S)
    except RemoraError:
        return
