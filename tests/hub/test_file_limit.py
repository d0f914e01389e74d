"""A file above the size limit is skipped and reported; the rest of the project is answered."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.hub.index.indexer import Indexer
from remora.hub.members.members import Members
from remora.hub.store.hub_store import HubStore
from tests.hub.client.conftest import FILES, RUNGS, TOTAL, House, ask, housed
from tests.hub.index_check import verify
from tests.peak_memory import PeakMemory

_MIB = 1024 * 1024
_SMALL = "node:small.py:f"
_REASON = "skipped: larger than 1 MiB (hub.max_file_mb)"


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def house() -> Iterator[House]:
    with housed() as made:
        made.write(FILES)
        yield made


def sparse(place: Path, size: int) -> None:
    with place.open("wb") as file:
        file.truncate(size)


@pytest.mark.slow
@pytest.mark.parametrize("rung", RUNGS)
def test_a_sparse_file_of_3_gib_is_skipped_on_each_rung(house: House, rung: str) -> None:
    sparse(house.root / "large.py", 3 << 30)
    house.raised_to(rung)

    began, memory = time.monotonic(), PeakMemory()
    found = ask(house.client(), [TOTAL, "node:large.py:__module__"])

    assert found.source == rung
    assert set(found) == {TOTAL}
    assert found[TOTAL].fresh
    assert time.monotonic() - began < 20
    assert memory.growth < 1 << 20  # KiB


@pytest.mark.slow
def test_what_is_skipped_is_reported_by_index_with_and_without_a_daemon(house: House) -> None:
    house.write({"small.py": "def f(): ...\n", "large.py": b"x = 1\n" * (3 * _MIB)})
    reported = [{"path": "large.py", "detail": _REASON}]

    assert json.loads(house.remora("hub", "index", "--json"))["errors"] == reported
    assert json.loads(house.remora("hub", "index", "--json"))["errors"] == reported  # not once only
    house.remora("hub", "start")
    assert json.loads(house.remora("hub", "index", "--json"))["errors"] == reported
    assert ask(house.client(), [_SMALL])[_SMALL].fresh


@pytest.mark.slow
def test_the_limit_is_configured(house: House) -> None:
    house.write({"large.py": "def f(): ...\n" + "# comment\n" * 150_000})
    assert json.loads(house.remora("hub", "index", "--json"))["errors"] != []

    house.write({"remora.yaml": "hub: {max_file_mb: 2}\n"})
    assert json.loads(house.remora("hub", "index", "--json"))["errors"] == []
    assert json.loads(house.remora("hub", "get", "--json", "large.py:f"))["fresh"] is True


def test_a_file_that_grows_and_shrinks_is_forgotten_and_known_again(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    members = Members(root, file_limit=100)
    with HubStore(tmp_path / "cache" / "hub.db", root=root, clock=now) as store:
        indexer = Indexer(root, store, members)
        for text in ("def f(): ...\n", "x = 1\n" * 100, "", "x = 1\n" * 200, "def g(): ...\n"):
            (root / "a.py").write_text(text)
            look = indexer.look()
            indexer.refresh((*look.changed, *look.gone), source="file_change")

            known = {key.rpartition(":")[2] for key in list(store.view().keys())}
            name = "fg"[text.startswith("def g")]
            if len(text) > 100:
                expected = set()
            else:
                expected = {"__module__", name} if text else {"__module__"}
            assert known == expected
            assert verify(root, members, store.view()).differences == ()
            assert indexer.look() == ((), ())  # a skipped file is not read again and again
