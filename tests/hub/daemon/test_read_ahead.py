"""Files analyzed ahead by a child: the same facts as without it."""

import time
from hashlib import sha256
from pathlib import Path

import pytest

from remora.code.file_analysis import read_facts
from remora.hub.daemon import read_ahead
from remora.hub.daemon.read_ahead import ReadAhead
from remora.hub.file_limits import FILE_LIMIT
from remora.hub.store.batch import pack_update

SOURCES = {"a.py": b"import os\n\ndef f(x):\n    return os.getcwd()\n", "b.py": b"x = (\n"}


@pytest.fixture
def ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReadAhead:
    monkeypatch.setattr(read_ahead, "MIN_FILES", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for path, source in SOURCES.items():
        (tmp_path / path).write_bytes(source)
    return ReadAhead(tmp_path, {}, FILE_LIMIT)


def test_a_file_is_prepared_as_the_daemon_would_store_it(ahead: ReadAhead) -> None:
    ahead.start([*SOURCES, "gone.py"])
    try:
        for path, source in SOURCES.items():
            file_hash, until = sha256(source).hexdigest(), time.monotonic() + 30
            while (found := ahead.take(path, file_hash)) is None:
                assert time.monotonic() < until
                time.sleep(0.02)
            direct = pack_update(read_facts(path, source), None)
            assert found == (direct.facts, direct.lowered)
            assert ahead.take(path, file_hash) is None, "each file is taken once"
    finally:
        ahead.close()


def test_a_file_that_changed_since_is_not_prepared(ahead: ReadAhead) -> None:
    ahead.start(list(SOURCES))
    try:
        until = time.monotonic() + 30
        while "a.py" not in ahead._ready:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert ahead.take("a.py", sha256(b"changed").hexdigest()) is None
    finally:
        ahead.close()
