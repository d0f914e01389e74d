"""What a command prints during long work if its output is not a terminal."""

import time

import pytest

from remora.cli.app import working as module
from remora.cli.app.options import Options
from remora.cli.app.working import working


@pytest.mark.parametrize(("quiet", "said"), [(False, "still working: testing ("), (True, "")])
def test_long_work_is_told_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, quiet: bool, said: str
) -> None:
    monkeypatch.setattr(module, "_PRINT_EACH_S", 0.01)
    error = ""
    with working(Options(root=None, quiet=quiet), "starting") as tell:
        tell("testing")
        while said not in error:
            time.sleep(0.02)
            error += capsys.readouterr().err
    assert bool(error) == bool(said)
