"""What a sweep takes after an earlier one, and whose records it believes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, git, write
from tests.cli.sweep.test_sweep import LINT, UNUSED, repository, states

pytestmark = pytest.mark.slow

REPOS = "repos.yaml"
UNTYPED = 'def name():\n    return "shop"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    repository(tmp_path / "shop")
    write(tmp_path, {"repos.yaml": "repositories: [shop]\n"})
    return tmp_path


def commit(folder: Path, **files: str) -> None:
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")


def planned(remora: Remora, folder: Path, *words: str) -> Any:
    document = remora(*LINT, *words, "--dry-run", "--json", cwd=folder).document
    return document["repositories"][0]


def test_an_import_that_a_function_no_longer_uses_is_found(remora: Remora, folder: Path) -> None:
    used = "import os\n\n\ndef place() -> str:\n    return os.sep\n"
    commit(folder / "shop", **{"a.py": used})
    remora(*LINT, cwd=folder)
    commit(folder / "shop", **{"a.py": used.replace("os.sep", "'/'")})
    assert planned(remora, folder)["jobs"] == {"lint": 1}


def test_a_configuration_in_a_folder_counts(remora: Remora, folder: Path) -> None:
    remora(*LINT, cwd=folder)
    assert planned(remora, folder)["state"] == "unchanged"
    commit(folder / "shop", **{"pkg/ruff.toml": 'lint.select = ["ALL"]\n'})
    assert planned(remora, folder)["jobs"] == {"lint": 1}


def test_a_clone_whose_changes_git_cannot_list_is_planned_again(
    remora: Remora, folder: Path
) -> None:
    remora(*LINT, cwd=folder)
    assert planned(remora, folder)["state"] == "unchanged"
    write(folder / "shop", {"new.py": UNUSED})
    (folder / "shop" / ".git" / "index").write_bytes(b"damaged")
    assert planned(remora, folder)["state"] != "unchanged"


def test_an_operation_without_an_environment_is_reported_and_made_up_for(
    remora: Remora, folder: Path
) -> None:
    shown = '"""Double a number.\n\n    >>> double(2)\n    4\n    """'
    tested = {"b.py": f"def double(x: int) -> int:\n    {shown}\n    return 2 * x\n"}
    commit(folder / "shop", **{".gitignore": ".venv\n", "a.py": "print(1)\n"}, **tested)
    both = ("-o", "test", "--json")
    ran = remora(*LINT, *both, cwd=folder)
    assert "not planned: test: 1 function in 1 repository without an environment" in ran.err
    assert planned(remora, folder, "-o", "test")["state"] == "unchanged"
    venv = (sys.executable, "-m", "venv", "--without-pip", folder / "shop" / ".venv")
    subprocess.run(venv, check=True)
    assert planned(remora, folder, "-o", "test")["state"] == "planned"


def test_an_earlier_sweep_of_other_operations_does_not_stand_in(
    remora: Remora, folder: Path
) -> None:
    commit(folder / "shop", **{"b.py": UNTYPED})
    first = remora(*LINT, "--json", cwd=folder).document["run_id"]
    types = ("sweep", "run", REPOS, "-o", "types")
    second = remora(*types, "--json", cwd=folder).document["run_id"]
    assert second != first
    repository(folder / "web")
    write(folder, {"repos.yaml": "repositories: [shop, web]\n"})
    third = remora(*LINT, "--json", cwd=folder).document
    assert {one["name"]: one["run_id"] for one in third["repositories"]} == {
        "shop": first,
        "web": third["run_id"],
    }


def test_each_operation_gets_its_branch_and_a_merged_branch_is_continued(
    remora: Remora, folder: Path
) -> None:
    shop = folder / "shop"
    for name, value in (("user.name", "t"), ("user.email", "t@localhost")):
        git(shop, "config", name, value)
    commit(shop, **{"b.py": UNTYPED})
    sweep = (*LINT, "-o", "types")
    accept = (
        "sweep",
        "accept",
        REPOS,
        "last",
        "--all",
        "--git-branch",
        "remora/{operation}",
        "--json",
    )
    remora(*sweep, cwd=folder)
    done = remora(*accept, cwd=folder).document["repositories"]
    assert {one["branch"]: len(one["accepted"]) for one in done} == {
        "remora/lint": 1,
        "remora/types": 1,
    }
    git(shop, "merge", "-q", "remora/lint", "remora/types")
    commit(shop, **{"c.py": UNUSED})
    remora(*sweep, cwd=folder)
    again = remora(*accept, cwd=folder)
    assert again.code == 0, again.out
    assert git(shop, "rev-list", "--count", "HEAD..remora/lint").strip() == "1"


def test_a_sweep_of_another_installation_is_not_resumed(
    remora: Remora, folder: Path, tmp_path: Path
) -> None:
    stranger = Remora(tmp_path / "stranger", remora.environ)
    run_id = stranger(*LINT, "--json", cwd=folder).document["run_id"]
    repository(folder / "web")
    write(folder, {"repos.yaml": "repositories: [shop, web]\n"})
    resume = ("sweep", "run", REPOS, "--resume", "last", "--json")
    refused = remora(*resume, cwd=folder)
    assert refused.code == 2
    assert "installation" in refused.error["message"]
    assert not (folder / "web" / ".agentfs").exists()
    trusted = remora(*resume, "--trust-run", cwd=folder)
    assert states(trusted.document, "run_id") == {"shop": run_id, "web": run_id}


def test_a_full_sweep_is_resumed_as_one(remora: Remora, folder: Path) -> None:
    repository(folder / "web")
    remora(*LINT, "--root", "web", cwd=folder)
    write(folder, {"repos.yaml": "repositories: [shop, web]\n"})
    remora(*LINT, cwd=folder)
    (folder / "web").rename(folder / "away")
    run_id = remora(*LINT, "--full", "--json", cwd=folder).document["run_id"]
    (folder / "away").rename(folder / "web")
    resumed = remora("sweep", "run", REPOS, "--resume", run_id, "--json", cwd=folder).document
    assert states(resumed, "run_id") == {"shop": run_id, "web": run_id}
