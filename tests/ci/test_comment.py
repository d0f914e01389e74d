"""The comment of the GitHub action and its plug-in."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from remora.mcp.client_settings import AGENTS_MD
from remora.mcp.tool_list import CONTEXT, IMPACT
from remora.version import __version__
from tests.ci.github_server import GitHub, github_server
from tests.cli.conftest import Remora, git
from tests.quality.test_readme import what_is_not_understood

SCRIPT = Path(__file__).parents[2] / "action/comment.py"
MARKER = "<!-- remora check remora -->"


@pytest.fixture
def github() -> Iterator[GitHub]:
    with github_server() as server:
        yield server


@dataclass(frozen=True)
class Job:
    """The step of a job that comments on pull request 7."""

    folder: Path
    github: GitHub
    suggested: str = ""

    def __call__(
        self,
        text: str,
        token: str = "of-actions",
        *,
        status: int = 1,
        number: int | None = 7,
        artifact: str = "remora",
        url: str = "",
    ) -> subprocess.CompletedProcess[str]:
        (self.folder / "remora.md").write_text(text, encoding="utf-8")
        event = {} if number is None else {"pull_request": {"number": number}}
        (self.folder / "event.json").write_text(json.dumps(event))
        return subprocess.run(
            [sys.executable, "-I", SCRIPT],
            env={
                "PATH": os.environ["PATH"],
                "GITHUB_API_URL": url or self.github.url,
                "GITHUB_REPOSITORY": "ana/shop",
                "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
                "ACTION_TOKEN": token,
                "ACTION_REPORTS": str(self.folder),
                "ACTION_STATUS": str(status),
                "ACTION_ARTIFACT": artifact,
                "ACTION_SUGGESTED": self.suggested,
            },
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def job(tmp_path: Path, github: GitHub) -> Job:
    return Job(tmp_path, github)


@pytest.mark.parametrize("token", ["of-actions", "of-ana"])
def test_the_second_run_edits_the_comment_of_the_first(
    job: Job, github: GitHub, token: str
) -> None:
    assert job("one problem", token).stdout == "wrote comment 1\n"
    assert job("two problems `ä`", token).stdout == "edited comment 1\n"
    assert job("no problems", token, status=0).stdout == "edited comment 1\n"
    assert [each["body"] for each in github.comments] == [f"{MARKER}\nno problems"]


def test_a_comment_of_somebody_else_is_never_edited(job: Job, github: GitHub) -> None:
    quoted = f"{MARKER}\nlook at this"
    github.add("ben", quoted)
    github.add("github-actions[bot]", f"coverage fell\n{MARKER}")
    for number in range(150):
        github.add("ben", f"word {number}")
    assert job("one problem").returncode == 0
    assert job("two problems").stdout == "edited comment 153\n", "it is on the second page"
    assert job("one problem", "of-ana").stdout == "wrote comment 154\n"
    assert github.comments[0]["body"] == quoted
    assert github.comments[152]["body"] == f"{MARKER}\ntwo problems"


def test_without_problems_no_comment_is_begun(job: Job, github: GitHub) -> None:
    assert job("no problems", status=0).returncode == 0
    assert github.comments == []


def test_two_uses_of_the_action_have_two_comments(job: Job, github: GitHub) -> None:
    assert job("lint").stdout == "wrote comment 1\n"
    assert job("types", artifact="types").stdout == "wrote comment 2\n"
    assert job("no types", artifact="types", status=0).stdout == "edited comment 2\n"
    assert github.comments[0]["body"] == f"{MARKER}\nlint"


def test_an_answer_that_ends_early_is_an_error(job: Job, github: GitHub) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            server.accept()[0].close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        port = server.getsockname()[1]
        done = job("one problem", url=f"http://127.0.0.1:{port}")
        thread.join()
    assert done.returncode == 1
    assert done.stdout.startswith("::error::no comment: ")
    assert done.stderr == ""


def test_a_token_that_may_not_write_does_not_fail_the_job(job: Job, github: GitHub) -> None:
    done = job("one problem", "read-only")
    assert done.returncode == 0
    assert done.stdout.startswith("::warning::no comment: the token may not write it")
    assert github.comments == []


def test_a_push_has_no_pull_request_to_comment_on(job: Job, github: GitHub) -> None:
    assert job("one problem", number=None).returncode == 0
    assert github.requests == []


def test_what_github_refuses_is_an_error(job: Job, github: GitHub) -> None:
    done = job("one problem", number=8)
    assert done.returncode == 1
    assert done.stdout == "::error::no comment: GitHub answered 404 Not Found\n"
    gone = Job(job.folder, github)
    github.server_close()
    github.shutdown()
    assert gone("one problem").stdout.startswith("::error::no comment: ")


def test_a_long_report_is_cut(job: Job, github: GitHub) -> None:
    assert job("ä" * 100_000).returncode == 0
    assert github.comments[0]["body"].endswith("The rest is in the artifact.")


def test_the_comment_says_what_is_suggested_beside_it(job: Job, github: GitHub) -> None:
    assert Job(job.folder, github, "Remora suggests much.")("one problem").returncode == 0
    assert github.comments[0]["body"] == f"{MARKER}\none problem\n\nRemora suggests much."
    assert Job(job.folder, github, "Remora suggests more.")("ä" * 100_000).returncode == 0
    assert github.comments[0]["body"].endswith("artifact.\n\nRemora suggests more.")


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


@pytest.mark.slow
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
    named = set(re.findall(r"tools? `(\w+)` and `(\w+)`", SKILL.read_text(encoding="utf-8")))
    assert named == {(CONTEXT.name, IMPACT.name)}


def test_no_page_tells_an_agent_to_accept_by_itself() -> None:
    for page in (SKILL, INSTRUCTIONS):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"^remora (?:accept|reject|revert|undo)\b", text, re.MULTILINE) == []
        assert "`remora review`" in text
    assert INSTRUCTIONS.read_text(encoding="utf-8") == AGENTS_MD


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
