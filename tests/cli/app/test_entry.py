"""Exit codes of errors that no command expects."""

from errno import ENOMEM

import click
import pytest

from remora.cli.app.entry import run


@pytest.mark.parametrize("error", [MemoryError(), OSError(ENOMEM, "Cannot allocate memory")])
def test_too_little_memory_is_not_a_bug(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(click.Group, "main", fail)
    assert run(["check", "--json"]) == 3
    said = capsys.readouterr()
    assert '"out_of_memory"' in said.out
    assert "free memory, or raise the limit" in said.err
