"""The editor that `review` opens: the user's own, on names that a foreign tree chose."""

import os
from pathlib import Path

import pytest

from remora.cli.review.edit_files import open_in_editor
from remora.errors import OutsideError


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """Writes down how it was called."""
    script = tmp_path / "my editor"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$@" > "{tmp_path}/called"\n')
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(
    "name", ['a"; touch made; ".py', "$(touch made).py", "`touch made`", "-a b"]
)
def test_a_name_is_a_name(tmp_path: Path, editor: Path, name: str) -> None:
    file = tmp_path / name
    open_in_editor(file, {"EDITOR": f"'{editor}' --wait"})
    assert (tmp_path / "called").read_text() == f"2\n--wait\n{file}\n"
    assert not Path("made").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"called", "my editor"}


def test_visual_comes_first(tmp_path: Path, editor: Path) -> None:
    open_in_editor(tmp_path / "a.py", {"VISUAL": f"'{editor}'", "EDITOR": "false"})
    assert (tmp_path / "called").exists()


@pytest.mark.parametrize("command", ["false", "no-such-editor", "'unended"])
def test_one_that_fails_is_reported(tmp_path: Path, command: str) -> None:
    with pytest.raises(OutsideError, match=command):
        open_in_editor(tmp_path / "a.py", {"EDITOR": command, "PATH": os.environ["PATH"]})
