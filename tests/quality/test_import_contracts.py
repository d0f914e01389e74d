"""Import contracts: planted violations are caught by the real import-linter."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


PLANTED = [
    ("trace/stream/line_builder", "remora.runs.project", "Imports point down"),
    ("usecases/clean_up", "remora.worker.queue_worker", "Imports point down"),
    ("bootstrap/open_trace", "remora.usecases.api", "Imports point down"),
    ("engines/queue_engine", "remora.bootstrap.invocation", "Imports point down"),
    ("operations/lint/operation", "remora.operations.test", "Operations are independent"),
    ("agents/loop/runner", "remora.operations.lint.operation", "Only bootstrap imports"),
    ("memory/packet", "subprocess", "have no effects"),
    ("sandbox/child/syscalls", "remora.errors", "What runs around a sandboxed command"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says of a copy with all planted imports and a package of no layer."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "src" / "remora", folder / "remora", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", folder)
    for module, imported, _ in PLANTED:
        with (folder / "remora" / f"{module}.py").open("a", encoding="utf-8") as file:
            file.write(f"\nimport {imported}\n")
    (folder / "remora" / "annex.py").write_text('"""Not in any layer."""\n')
    done = subprocess.run(
        [LINT, "--no-cache", "--config", folder / "pyproject.toml"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("module", "imported", "contract"), PLANTED)
def test_a_planted_import_breaks_its_contract(
    told: str, module: str, imported: str, contract: str
) -> None:
    broken = [line for line in told.splitlines() if " BROKEN" in line]
    assert [line for line in broken if contract in line], told
    assert f"remora.{module.replace('/', '.')} -> {imported} " in told


def test_a_package_outside_the_layers_is_refused(told: str) -> None:
    assert "remora.annex" in told
