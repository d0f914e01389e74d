"""Plans say what they need, as the newest runs have measured it."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, write
from tests.load_server import load_server

FUNCTION = """
def convert_{0}(amount: float, rate: float = {0}.5) -> float:
    if rate <= 0:
        raise ValueError(f"{{rate}} is not a rate")
    return round(amount * rate + {0}, 2)
"""
ANALYZE = ("analyze", "-o", "docstring", "--model")


def project(folder: Path, functions: int) -> Path:
    folder.mkdir()
    body = "".join(FUNCTION.format(number) for number in range(functions))
    write(folder, {"money.py": f'"""Money."""\n{body}', "pyproject.toml": "[project]\n"})
    return folder


def estimate(remora: Remora, address: str, cwd: Path) -> dict[str, Any]:
    planned = remora(*ANALYZE, address, "--dry-run", "--json", cwd=cwd)
    found: dict[str, Any] = planned.document["estimate"]
    return found


@pytest.mark.slow
def test_a_plan_is_estimated_from_the_runs_before_it(remora: Remora, tmp_path: Path) -> None:
    small, large = project(tmp_path / "small", 5), project(tmp_path / "large", 16)
    with load_server(0.2) as server:
        before = estimate(remora, server.address, large)
        assert before["decisions"] is before["seconds"] is None
        assert before["unmeasured"] == ["docstring"]
        shown = remora(*ANALYZE, server.address, "--dry-run", cwd=large).out
        assert "no run of docstring with this model was measured yet" in " ".join(shown.split())

        remora(*ANALYZE, server.address, "--json", cwd=small)
        expected = estimate(remora, server.address, large)
        shown = " ".join(remora(*ANALYZE, server.address, "--dry-run", cwd=large).out.split())
        assert "expected: 16 decisions of a model, " in shown
        assert ", as measured on 5 jobs" in shown

        tokens, began = server.tokens, time.monotonic()
        remora(*ANALYZE, server.address, "--json", cwd=large)
        seconds = time.monotonic() - began
        used = server.tokens - tokens
    assert expected["measured_jobs"] == 5
    assert 0.5 < expected["seconds"] / seconds < 2
    assert 0.8 < (expected["prompt_tokens"] + expected["answer_tokens"]) / used < 1.25


@pytest.mark.slow
def test_a_sweep_is_estimated_from_the_sweep_before_it(remora: Remora, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        project(tmp_path / name, 4)
    sweep = ("sweep", "run", "repos.yaml", "-o", "docstring", "--yes", "--json")
    with load_server(0.15) as server:
        asking = (*sweep, "--model", server.address)
        write(tmp_path, {"repos.yaml": "repositories: [a]\n"})
        planned = remora(*asking, "--dry-run", cwd=tmp_path).document
        assert planned["totals"]["estimate"]["seconds"] is None
        remora(*asking, cwd=tmp_path)
        write(tmp_path, {"repos.yaml": "repositories: [b, c]\n"})
        expected = remora(*asking, "--dry-run", cwd=tmp_path).document["totals"]["estimate"]
        assert (expected["decisions"], expected["measured_jobs"]) == (8, 4)
        assert expected["seconds"] > 8 * 3 * 0.15 / 2
