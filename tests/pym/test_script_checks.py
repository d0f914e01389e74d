"""Scripts are looked at once each."""

from pathlib import Path

import pytest

from remora.errors import NotFound
from remora.pym import ScriptChecks


def scripts(folder: Path, count: int, text: str = "1\n") -> list[Path]:
    paths = [folder / f"s{number}.pym" for number in range(count)]
    for path in paths:
        path.write_text(text)
    return paths


def test_a_file_is_looked_at_once(tmp_path: Path) -> None:
    (path,) = scripts(tmp_path, 1)
    checks = ScriptChecks()

    found = [checks.examine(path) for _ in range(9)]

    assert all(script is found[0][0] for script, _ in found)


def test_a_missing_file_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        ScriptChecks().examine(tmp_path / "gone.pym")


@pytest.mark.slow
def test_a_script_that_is_made_to_take_long_is_given_up(tmp_path: Path) -> None:
    """A quarter of a megabyte of labels: the checker would look at it for minutes."""
    (path,) = scripts(tmp_path, 1, "a:" * 125_000)

    script, (error,) = ScriptChecks().examine(path)

    assert script is None
    assert error.kind in ("limit", "crashed", "syntax")
    assert error.message.startswith("s0.pym:1: the type checker failed: ")
