"""The plug-in for coding agents: its files are valid, and its commands exist and work."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from remora.mcp.tool_list import CONTEXT, HUB_CALLERS, HUB_SEARCH
from remora.version import __version__
from tests.cli.conftest import Remora, git
from tests.quality.test_readme import what_is_not_understood

REPOSITORY = Path(__file__).parents[2]
PLUGIN = REPOSITORY / "plugin"
SKILL = PLUGIN / "skills/remora/SKILL.md"
INSTRUCTIONS = PLUGIN / "AGENTS.md"
_COMMAND = re.compile(r"^(remora .*)$|`(remora [a-z][^`]*)`", re.MULTILINE)
VALUES = {"NAME": "src/shop/pricing.py:shipping", "FILE": "src/shop/pricing.py"}


def document(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def commands(page: Path) -> list[str]:
    return [block or inline for block, inline in _COMMAND.findall(page.read_text(encoding="utf-8"))]


def frontmatter(text: str) -> dict[str, str]:
    header = re.match(r"---\n(.*?)\n---\n\n# ", text, re.DOTALL)
    assert header, "a skill begins with its frontmatter, and a heading follows"
    fields: dict[str, str] = yaml.safe_load(header[1])
    return fields


def test_the_manifest_has_the_name_and_version_of_the_package() -> None:
    manifest = document(PLUGIN / ".claude-plugin/plugin.json")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest["name"])
    assert manifest["version"] == __version__
    assert set(manifest) == {"name", "version", "description", "author", "license", "keywords"}


def test_the_server_starts_the_command_on_the_path(tmp_path: Path) -> None:
    (entry,) = document(PLUGIN / ".mcp.json")["mcpServers"].values()
    line = shlex.join([entry["command"], *entry["args"]])
    assert line == "remora mcp"
    assert what_is_not_understood([line], tmp_path) == ""


def test_the_frontmatter_says_what_the_skill_is_for_and_when_to_use_it() -> None:
    fields = frontmatter(SKILL.read_text(encoding="utf-8"))
    assert set(fields) == {"name", "description", "license", "compatibility"}
    assert fields["name"] == SKILL.parent.name
    assert "Use it before" in fields["description"]
    assert len(fields["description"]) <= 1024
    assert len(fields["compatibility"]) <= 500
    with pytest.raises(AssertionError):
        frontmatter("# Remora\n\n---\nname: remora\n---\n")


@pytest.mark.parametrize("page", [SKILL, INSTRUCTIONS], ids=lambda page: page.stem)
def test_every_command_and_option_exists(page: Path, tmp_path: Path) -> None:
    named = commands(page)
    assert len(named) >= 5
    assert what_is_not_understood(named, tmp_path) == ""
    assert "--deep" in what_is_not_understood([*named, "remora hub callers NAME --deep"], tmp_path)


def test_every_tool_that_the_skill_names_is_served() -> None:
    named = set(re.findall(r"`(context|(?:hub|trace)_[a-z]+)`", SKILL.read_text(encoding="utf-8")))
    assert named == {tool.name for tool in (HUB_SEARCH, CONTEXT, HUB_CALLERS)}


def test_no_page_tells_an_agent_to_accept_by_itself() -> None:
    for page in (SKILL, INSTRUCTIONS):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"^remora (?:accept|reject|revert|undo)\b", text, re.MULTILINE) == []
        assert "`remora review`" in text


@pytest.mark.slow
def test_the_commands_work_in_a_project(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    shutil.copytree(REPOSITORY / "examples/shop", root)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "shop")
    user = Remora(tmp_path / "home")
    for name in ("NAME", "FILE"):
        assert any(name in command for command in commands(SKILL))
    values = dict(VALUES)
    for command in commands(SKILL):
        if command == "remora trace why AGENT":
            values["AGENT"] = user("trace", "list", "--json", cwd=root).document["streams"][0][
                "agent_id"
            ]
        words = [values.get(word, word) for word in shlex.split(command)[1:]]
        if words in (["review"], ["hub", "start"]):  # a terminal, and a process that stays
            continue
        done = user(*words, cwd=root)
        is_check = words[0] == "check"
        assert done.code in ((0, 1) if is_check else (0,)), f"{command}: {done.err}"
