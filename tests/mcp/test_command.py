"""The command: settings for clients, and what it says if it cannot serve."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from remora.cli.agents import mcp
from remora.errors import DiskError
from remora.mcp.client_settings import CLIENTS, project_token
from tests.cli.conftest import Remora, write
from tests.mcp.project import invocation_in


@pytest.mark.parametrize(
    ("client", "servers", "file"),
    [
        ("claude", "mcpServers", ".mcp.json"),
        ("cursor", "mcpServers", ".cursor/mcp.json"),
        ("vscode", "servers", ".vscode/mcp.json"),
    ],
)
def test_settings_start_this_installation_for_this_project(
    project: Path, home: Path, client: str, servers: str, file: str
) -> None:
    done = Remora(home)("mcp", "--print-config", client, "--allow-run", cwd=project)
    entry = json.loads(done.out)[servers]["remora"]
    assert Path(entry["command"]).samefile(Path(sys.executable).with_name("remora"))
    assert entry["args"] == ["--root", str(project), "mcp", "--allow-run"]
    assert done.err == f"this belongs in {file}\n"


def test_settings_name_the_configuration_file(project: Path, home: Path, tmp_path: Path) -> None:
    write(tmp_path, {"other.yaml": "", "folder/x": ""})
    words = ("--root", project, "--config", "../other.yaml", "mcp", "--print-config", "claude")
    done = Remora(home)(*words, cwd=tmp_path / "folder")
    entry = json.loads(done.out)["mcpServers"]["remora"]
    assert entry["args"][:3] == ["--root", str(project), "--config"]
    assert Path(entry["args"][3]).is_absolute()
    assert Path(entry["args"][3]).samefile(tmp_path / "other.yaml")
    assert entry["args"][4:] == ["mcp"]


def test_settings_with_a_token_should_not_be_committed(project: Path, home: Path) -> None:
    for client in ("claude", "codex"):
        done = Remora(home)("mcp", "--print-config", client, "--http", "8765", cwd=project)
        assert done.err.endswith("it has the project's token in it: do not commit that file\n")
        assert "token" not in Remora(home)("mcp", "--print-config", client, cwd=project).err


def test_an_empty_token_is_replaced(tmp_path: Path) -> None:
    root, home = write(tmp_path / "project", {"a.py": ""}), tmp_path / "home"
    invocation = invocation_in(root, home)
    token = project_token(invocation)
    (path,) = (home / "state").rglob("mcp.token")
    path.write_text("\n")
    another = project_token(invocation)
    assert another not in ("", token)
    assert project_token(invocation) == another == path.read_text().strip()


def test_a_folder_for_the_token_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    root, home = write(tmp_path / "project", {"a.py": ""}), tmp_path / "home"
    (home / "state/remora").mkdir(parents=True)
    (home / "state/remora/roots").symlink_to("/proc")
    with pytest.raises(DiskError, match="/roots/"):
        project_token(invocation_in(root, home))


def test_settings_for_codex_are_toml(project: Path, home: Path) -> None:
    done = Remora(home)("mcp", "--print-config", "codex", cwd=project)
    entry = tomllib.loads(done.out)["mcp_servers"]["remora"]
    assert entry["args"] == ["--root", str(project), "mcp"]
    assert entry["tool_timeout_sec"] > 300
    done = Remora(home)("mcp", "--print-config", "codex", "--http", "8765", cwd=project)
    entry = tomllib.loads(done.out)["mcp_servers"]["remora"]
    assert entry["url"] == "http://127.0.0.1:8765/mcp"
    assert entry["http_headers"]["Authorization"].startswith("Bearer ")


def test_a_missing_extra_is_named(project: Path, home: Path, tmp_path: Path) -> None:
    """A module that cannot be imported stands for the package that is not installed."""
    (tmp_path / "mcp.py").write_text("raise ImportError('no mcp here')")
    user = Remora(home, {"PYTHONPATH": str(tmp_path)})
    done = user("mcp", cwd=project)
    assert done.code == 2
    assert "the extra mcp is not installed" in done.err
    assert "[mcp]'`" in done.err


def test_json_output_would_mix_with_the_protocol(project: Path, home: Path) -> None:
    done = Remora(home)("mcp", "--json", cwd=project)
    assert (done.code, done.error["hint"]) == (2, "stdout carries the protocol")
    done = Remora(home)("mcp", "--print-config", "claude", "--http", "0", cwd=project)
    assert (done.code, "choose one, such as --http 8765" in done.err) == (2, True)


def test_every_client_can_be_chosen() -> None:
    assert tuple(CLIENTS) == mcp._CLIENTS
