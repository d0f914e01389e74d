"""The tests that `remora hub observe` saw enter a project's code."""

from pathlib import Path
from typing import TYPE_CHECKING

from remora.bootstrap.invocation import Invocation
from remora.errors import RemoraError
from remora.hub.process.hub_paths import hub_paths

if TYPE_CHECKING:
    from remora.config.schema import Config
    from remora.hub.observed_links import ObservedTest


def observed_tests(
    invocation: Invocation, root: Path, config: "Config"
) -> "tuple[ObservedTest, ...]":
    """Return the tests that entered a node, which are none if the Hub has no database or is off."""
    if config.hub.enabled is False:
        return ()
    from remora.hub.store.reader import read_snapshot

    try:
        db = hub_paths(invocation.folders, root).db
        return read_snapshot(db, lambda view: view.observation().tests) or ()
    except RemoraError:
        return ()
