"""Import contracts: planted violations are caught by the real import-linter."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]
LAYERS = [
    {name for name in re.findall(r"\w+", layer) if [*(ROOT / "src/remora").glob(f"{name}*")]}
    for layer in next(each["layers"] for each in CONTRACTS["contracts"] if each["id"] == "layers")
]


def rows(page: str, pattern: str) -> list[tuple[str, set[str]]]:
    """Return the first column and the parts of each row of a page's table of parts."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(pattern, text, re.MULTILINE)
    return [(first, set(re.findall(r"`(\w+)`", parts))) for first, parts in found]


def test_the_architecture_page_has_the_layers_of_the_contract() -> None:
    found = rows("docs/explanation/architecture.md", r"^\| (\d+) \| ((?:`\w+`(?:, )?)+) \|")
    numbers = dict.fromkeys(number for number, _ in found)
    assert [set().union(*(p for n, p in found if n == number)) for number in numbers] == LAYERS


def test_imports_point_down_the_table_for_agents() -> None:
    found = rows("AGENTS.md", r"^(\|) ((?:`\w+`(?:, )?)+) \|")
    order = [n for _, parts in found for n, layer in enumerate(LAYERS) if layer & parts]
    assert set().union(*(parts for _, parts in found)) == set().union(*LAYERS)
    assert sum(len(parts) for _, parts in found) == sum(map(len, LAYERS))
    assert order == sorted(order)


PLANTED = [
    ("trace/stream/line_builder", "remora.runs.project", "Imports point down"),
    ("usecases/clean_up", "remora.worker.queue_worker", "Imports point down"),
    ("bootstrap/open_trace", "remora.usecases.api", "Imports point down"),
    ("engines/queue_engine", "remora.bootstrap.invocation", "Imports point down"),
    ("operations/lint/operation", "remora.operations.test", "Operations are independent"),
    ("judges/tests/hollow", "remora.operations.base", "Imports point down"),
    ("judges/gates/gate", "remora.workspaces.apply.transaction", "Judges write no change"),
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
