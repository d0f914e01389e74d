"""`[tool.remora]` in pyproject.toml counts as remora.yaml does, with the same limits of trust."""

from pathlib import Path

import pytest

from remora.bootstrap.invocation import Invocation, is_configured, open_config, open_with_places
from remora.errors import ConfigError


def caller(tmp_path: Path) -> Invocation:
    return Invocation(environ={"HOME": str(tmp_path / "home")}, folder=tmp_path)


def write(tmp_path: Path, table: str) -> Path:
    root = tmp_path / "project"
    root.mkdir(exist_ok=True)
    (root / "pyproject.toml").write_text(f'[project]\nname = "x"\n{table}')
    return root


def test_pyproject_settings_apply(tmp_path: Path) -> None:
    root = write(tmp_path, '[tool.remora]\nexclude = ["a/"]\n[tool.remora.runner]\nmax_turns = 5\n')
    config, places = open_with_places(caller(tmp_path), root)
    assert config.runner.max_turns == 5
    assert config.exclude == ("a/",)
    assert places["runner", "max_turns"] == f"{root}/pyproject.toml [tool.remora]"
    assert is_configured(caller(tmp_path), root)


@pytest.mark.parametrize("table", ["", "[tool.other]\nremora = 1\n", '[x]\ny = "[tool.remora]"\n'])
def test_without_it_nothing_is_set(tmp_path: Path, table: str) -> None:
    root = write(tmp_path, table)
    assert open_config(caller(tmp_path), root) == open_config(caller(tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("[tool.remora]\nmax_turn = 3\n", "unknown key max_turn"),
        ('[tool.remora.model]\nbase_url = "http://models.test/v1"\n', "a project cannot set"),
        ('[tool.remora.model]\napi_key = "k"\n', "a project cannot set a key"),
        ("[tool.remora.workspace]\nallow_unsandboxed = true\n", "a project cannot set consent"),
        ("[tool.remora\n", "pyproject.toml"),
        ("[tool]\nremora = 3\n[tool.remora2]\n", "expected a mapping"),
    ],
)
def test_what_is_wrong_or_not_a_projects_is_refused(tmp_path: Path, table: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_config(caller(tmp_path), write(tmp_path, table))


def test_beside_a_file_it_is_an_error(tmp_path: Path) -> None:
    root = write(tmp_path, "[tool.remora]\nexclude = []\n")
    (root / "remora.yaml").write_text("exclude: []\n")
    with pytest.raises(ConfigError, match="this project is configured in both"):
        open_config(caller(tmp_path), root)


def test_a_link_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    root = write(tmp_path, "")
    outside = tmp_path / "outside.toml"
    outside.write_text("[tool.remora.runner]\nmax_turns = 5\n")
    (root / "pyproject.toml").unlink()
    (root / "pyproject.toml").symlink_to(outside)
    assert open_config(caller(tmp_path), root).runner.max_turns == 12
