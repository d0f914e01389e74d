"""A store of a small project."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from remora.hub.file_stamp import Stamp
from remora.hub.node import UpdateSource
from remora.hub.store.batch import Applied, Batch, FileUpdate, pack_update
from remora.hub.store.hub_store import HubStore
from tests.clock import ticking
from tests.hub.small_files import facts_of


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "hub.db"


@pytest.fixture
def store(db: Path) -> Iterator[HubStore]:
    with HubStore(db, root=Path("/project"), clock=ticking()) as store:
        yield store


def update_of(path: str, source: str, stamp: Stamp | None = None) -> FileUpdate:
    return pack_update(facts_of(path, source), stamp)


def put(
    store: HubStore, files: Mapping[str, str | None], *, source: UpdateSource = "file_change"
) -> Applied:
    """Store these files, by path; those without content are gone."""
    updates = tuple(update_of(path, text) for path, text in files.items() if text is not None)
    gone = tuple(path for path, text in files.items() if text is None)
    return store.apply(Batch(updates=updates, gone=gone, source=source))
