"""Each benchmark runs to its end at its smallest size."""

from importlib import import_module

import pytest

SMALL = {"ROUNDS": 1, "RUNS": 1, "_RUNS": 1, "STARTS": 1, "EVENTS": 80, "TURNS": 20, "FILES": 4}
SMALL |= {"SIZE": 100_000, "MEGABYTE": 10_000, "_FINDINGS": 6, "READS": 1, "LINES": 20}
NAMES = (
    "startup check projection append accept verify redaction memory lint model_tools pym planning"
)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES.split())
def test_a_benchmark_runs(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("sys.argv", [name])
    for constant, value in {**SMALL, "_FILES": (20, 200)}.items():
        monkeypatch.setattr(import_module(name), constant, value, raising=False)
    import_module(name).main()
