"""Files are read as they are now, and what cannot be read is left out."""

from pathlib import Path

import pytest

from remora.code.file_analysis import read_facts
from remora.errors import DiskError
from remora.hub.query.fresh_read import read_all


def test_the_facts_of_files_by_spelled_path(tmp_path: Path) -> None:
    source = b"def f():\n    return 1\n"
    (tmp_path / "a%b.py").write_bytes(source)
    (tmp_path / "link.py").symlink_to("a%b.py")
    found = read_all(tmp_path, ["a%b.py", "link.py", "gone.py"])
    assert found == {"a%25b.py": read_facts("a%b.py", source)}


def test_no_root(tmp_path: Path) -> None:
    with pytest.raises(DiskError):
        read_all(tmp_path / "gone", [])
