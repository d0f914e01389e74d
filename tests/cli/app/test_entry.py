"""Errors that no command expects: exit codes, and a traceback of a bug with `-v`."""

import logging
import subprocess
import sys
from errno import ENOMEM
from pathlib import Path

import click
import pytest

from remora.cli.app.entry import run


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
    ],
)
def test_too_little_memory_is_not_a_bug(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(click.Group, "main", fail)
    assert run(["check", "--json"]) == 3
    said = capsys.readouterr()
    assert '"out_of_memory"' in said.out
    assert "raise the limit" in said.err
    assert "bug" not in said.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"), [("--version", 0), ("check", 3), ("analyze", 3), ("judge", 3)]
)
def test_a_limit_of_memory_is_named_before_anything_fails(
    command: str, code: int, project: Path
) -> None:
    """Threads and libraries would fail at places that depend on chance, one with a Rust backtrace."""
    script = f"ulimit -v 400000; exec {sys.executable} -m remora {command}"
    done = subprocess.run(
        ["sh", "-c", script], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    if code:
        assert done.stderr.startswith("error: not enough memory: the limit is 390 MiB")
        assert "raise the limit, for example with `ulimit -v " in done.stderr
        assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize(("words", "shown"), [((), 0), (("-v",), 1), (("--verbose",), 1)])
def test_the_traceback_of_a_bug_that_ends_one_job_is_shown_with_v(
    words: tuple[str, ...],
    shown: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = logging.getLogger("remora.bugs")
    monkeypatch.setattr(log, "handlers", [logging.NullHandler()])  # as in a new process
    monkeypatch.setattr(log, "propagate", False)  # to whom pytest tells it
    for _ in range(2):  # once for each fault, however many commands there were
        run(["schema", "config", *words])
    capsys.readouterr()
    log.error("a.py:f", exc_info=RecursionError("too deep"))
    assert capsys.readouterr().err.count("RecursionError: too deep") == shown
