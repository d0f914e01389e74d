"""Import contracts: planted violations are caught by the real import-linter."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [LINT, "--no-cache", "--config", folder / "pyproject.toml"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(
        ROOT / "src" / "remora", tmp_path / "remora", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        ("trace/stream/line_builder", "remora.runs.project", "Imports point down"),
        ("usecases/clean_up", "remora.worker.own_loop", "Imports point down"),
        ("bootstrap/open_trace", "remora.usecases.api", "Imports point down"),
        ("engines/queue_engine", "remora.bootstrap.invocation", "Imports point down"),
        ("operations/lint/operation", "remora.operations.test", "Operations are independent"),
        ("agents/loop/runner", "remora.operations.lint.operation", "Only bootstrap imports"),
        ("memory/packet", "subprocess", "have no effects"),
        ("sandbox/child/syscalls", "remora.errors", "What runs around a sandboxed command"),
    ],
)
def test_a_planted_import_breaks_its_contract(
    copy: Path, module: str, imported: str, contract: str
) -> None:
    path = copy / "remora" / f"{module}.py"
    path.write_text(f"{path.read_text(encoding='utf-8')}\nimport {imported}\n", encoding="utf-8")
    done = lint(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    broken = [line for line in done.stdout.splitlines() if " BROKEN" in line]
    assert [line for line in broken if contract in line], done.stdout


def test_a_package_outside_the_layers_is_refused(copy: Path) -> None:
    (copy / "remora" / "annex.py").write_text('"""Not in any layer."""\n')
    done = lint(copy)
    assert (done.returncode, "remora.annex" in done.stdout) == (1, True), done.stdout
