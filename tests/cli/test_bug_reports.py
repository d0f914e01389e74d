"""A bug that ends one job is reported in a line; `-v` shows its traceback."""

import logging

import pytest

from remora.cli.app.entry import run

_LOG = logging.getLogger("remora.bugs")


@pytest.fixture(autouse=True)
def _as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_LOG, "handlers", [logging.NullHandler()])
    monkeypatch.setattr(_LOG, "propagate", False)  # to whom pytest tells it


@pytest.mark.parametrize(("words", "shown"), [((), 0), (("-v",), 1), (("--verbose",), 1)])
def test_the_traceback(
    words: tuple[str, ...], shown: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # once for each fault, however many commands there were
        run(["schema", "config", *words])
    capsys.readouterr()
    _LOG.error("a.py:f", exc_info=RecursionError("too deep"))
    assert capsys.readouterr().err.count("RecursionError: too deep") == shown
