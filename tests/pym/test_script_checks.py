"""Scripts are looked at once each, and all of them in bounded time."""

from pathlib import Path

import pytest

from remora.errors import NotFound
from remora.pym import ScriptChecks


class Watch:
    """A clock on which each look at a script takes as long as its name says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        if self.asked % 2 == 0:  # the second question of a look ends it
            self.now += 20.0
        return self.now


def scripts(folder: Path, count: int, text: str = "1\n") -> list[Path]:
    paths = [folder / f"s{number}.pym" for number in range(count)]
    for path in paths:
        path.write_text(text)
    return paths


def test_when_the_time_is_up_the_rest_is_not_looked_at_and_the_slowest_is_named(
    tmp_path: Path,
) -> None:
    checks = ScriptChecks(seconds=50, clock=Watch())

    found = [checks.examine(path) for path in scripts(tmp_path, 6)]

    assert [script is not None for script, _ in found] == [True, True, True, False, False, False]
    (error,) = found[3][1]
    assert error.message.startswith(
        "s3.pym:1: not checked, because other scripts took 60 s (total limit 50 s); "
        f"the slowest is {tmp_path.name}/s2.pym (20.0 s)"
    )
    assert error.kind == "limit"
    assert "remora tools check" in error.hint


def test_a_file_that_was_looked_at_takes_no_more_time(tmp_path: Path) -> None:
    (path,) = scripts(tmp_path, 1)
    checks = ScriptChecks(seconds=50, clock=Watch())

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
