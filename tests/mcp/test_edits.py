"""The tool `verify_edit`: edits are judged before they are written."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.invocation import Invocation
from remora.errors import UsageError
from remora.mcp.edit_verdict import edited
from tests.cli.conftest import git, write
from tests.mcp.project import connected, error_of, invocation_in, text_of

CODE = '''"""Prices."""


def first(prices):
    """Return the first price.

    Args:
        prices: What things cost.
    """
    return prices[0]
'''
CONFIG = "[tool.ruff.lint]\nselect = ['F']\n"
UNUSED = [{"old": "    return prices[0]", "new": "    import os\n    return prices[0]"}]
RENAMED = [
    {"old": "first(prices)", "new": "first(costs)"},
    {"old": "return prices", "new": "return costs"},
]
FINE = [{"old": "prices[0]", "new": "prices[0] or 0"}]
ABSENT, NEW = {"old": "absent", "new": ""}, {"old": "", "new": "a a"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    environment = {"env/pyvenv.cfg": ""}
    made = write(tmp_path / "shop", {"prices.py": CODE, "pyproject.toml": CONFIG, **environment})
    git(made, "init", "-q")
    return made


def verify(
    invocation: Invocation,
    edits: Any,
    meanwhile: Callable[[], object] = lambda: None,
    **arguments: Any,
) -> Any:
    """Call the tool on a server that may write, and change something after the call began."""

    async def run() -> Any:
        async with connected(invocation, writable=["*.py"]) as client:
            given = {"path": "prices.py", "edits": edits, **arguments}
            call = asyncio.create_task(client.call_tool("verify_edit", given))
            await asyncio.sleep(0.2)
            meanwhile()
            return await call

    return asyncio.run(run())


def test_what_an_edit_makes_worse_is_named_with_its_line(root: Path, home: Path) -> None:
    invocation = invocation_in(root, home)
    unused = json.loads(text_of(verify(invocation, UNUSED, apply=True)))
    assert (unused["ok"], unused["applied"]) == (False, False)
    (problem,) = unused["problems"]
    assert (problem["path"], problem["line"], problem["code"]) == ("prices.py", 10, "ruff")
    assert "`os` imported but unused" in problem["message"]
    renamed = json.loads(text_of(verify(invocation, RENAMED)))
    assert "prices" in renamed["problems"][0]["message"]
    assert (root / "prices.py").read_text() == CODE


def test_a_syntax_error_and_a_wrong_result_have_their_lines_and_other_types_are_not_judged(
    root: Path, home: Path
) -> None:
    code = "".join(f"def f{number}() -> str:\n    return '3'\n\n\n" for number in range(50))
    write(root, {"long file.py": code})
    old, invocation = "def f30() -> str:\n    return '3'", invocation_in(root, home)
    for new, line in (("return ('3'", 122), ("return '3'\n  x = 1", 123)):
        edits = [{"old": old, "new": old.replace("return '3'", new)}]
        said = json.loads(text_of(verify(invocation, edits, path="long file.py")))
        assert {problem["line"] for problem in said["problems"]} == {line}
    edits = [{"old": old, "new": old.replace("'3'", "3")}]
    said = json.loads(text_of(verify(invocation, edits, path="long file.py")))
    (problem,) = said["problems"]
    assert (said["ok"], problem["path"], problem["line"]) == (False, "long file.py", 122)
    assert "expected `str`, found `Literal[3]`" in problem["message"]
    assert "types of functions" in [part["what"] for part in said["unjudged"]]


@pytest.mark.slow
def test_what_is_wrong_in_any_project_is_named_without_a_linter(root: Path, home: Path) -> None:
    (root / "pyproject.toml").unlink()
    invocation = invocation_in(root, home)
    for path, new, says in (
        ("prices.py", "prices[", "invalid-syntax"),
        ("./prices.py", "costs[0]", "Undefined name `costs`"),
        (str(root / "prices.py"), "costs[0]", "Undefined name `costs`"),
    ):
        edits = [{"old": "prices[0]", "new": new}]
        said = json.loads(text_of(verify(invocation, edits, path=path, apply=True)))
        assert says in said["problems"][0]["message"]
        assert not said["applied"]
    assert (root / "prices.py").read_text() == CODE


@pytest.mark.skipif(sys.version_info >= (3, 15), reason="this Python parses the edit")
def test_an_edit_in_newer_syntax_says_which_python_remora_needs(root: Path, home: Path) -> None:
    write(root, {"pyproject.toml": "[project]\nrequires-python = '>=3.15'\n"})
    lazy = [{"old": "def first", "new": "lazy import json\n\n\ndef first"}]
    said = json.loads(text_of(verify(invocation_in(root, home), lazy, apply=True)))
    assert (said["ok"], said["problems"], said["applied"]) == (False, [], False)
    assert "syntax of Python 3.15, but Remora runs on 3." in said["unjudged"][-1]["why"]
    assert (root / "prices.py").read_text() == CODE


@pytest.mark.slow
def test_names_that_flake8_knows_are_left_to_it(root: Path, home: Path) -> None:
    (root / "pyproject.toml").unlink()
    write(root, {".flake8": "[flake8]\nbuiltins = _\n"})
    translated = [{"old": "prices[0]", "new": "_(prices[0])"}]
    assert json.loads(text_of(verify(invocation_in(root, home), translated)))["ok"]
    broken = [{"old": "prices[0]", "new": "prices["}]
    assert not json.loads(text_of(verify(invocation_in(root, home), broken)))["ok"]


@pytest.mark.slow
def test_an_edit_is_written_only_if_nothing_is_said_against_it(root: Path, home: Path) -> None:
    invocation, file = invocation_in(root, home), root / "prices.py"
    applied = json.loads(text_of(verify(invocation, FINE, apply=True)))
    assert applied["applied"]
    assert file.read_text() == CODE.replace("prices[0]", "prices[0] or 0")
    new = [{"old": "", "new": "def second(): ...\n"}]
    assert json.loads(text_of(verify(invocation, new, path="a/new.py", apply=True)))["applied"]
    assert (root / "a" / "new.py").read_text() == "def second(): ...\n"


def test_two_edits_at_once_are_both_written(root: Path, home: Path) -> None:
    """Each is judged when the one before it is written, so that neither is stale."""
    both = FINE, [{"old": "Prices.", "new": "All prices."}]

    async def run() -> list[Any]:
        async with connected(invocation_in(root, home), writable=["*.py"]) as client:
            given = [{"path": "prices.py", "edits": edits, "apply": True} for edits in both]
            calls = [client.call_tool("verify_edit", arguments) for arguments in given]
            return await asyncio.gather(*calls)

    assert all(json.loads(text_of(answer))["applied"] for answer in asyncio.run(run()))
    written = CODE.replace("prices[0]", "prices[0] or 0").replace("Prices.", "All prices.")
    assert (root / "prices.py").read_text() == written


@pytest.mark.slow
@pytest.mark.parametrize("path", [".agentfs/traces/a.jsonl", "remora.yaml", "-a.py"])
def test_records_and_settings_are_never_written(root: Path, home: Path, path: str) -> None:
    new = [{"old": "", "new": "a: 1\n"}]
    assert error_of(verify(invocation_in(root, home), new, path=path, apply=True))
    assert not (root / path).exists()


@pytest.mark.parametrize(
    "path",
    [
        *(".claude/hooks/a.py", "sitecustomize.py", "src/SiteCustomize/__init__.py", ".envrc"),
        *("docs/../.mcp.json", "notes.md", "a.pth"),
    ],
)
def test_what_other_programs_execute_is_written_only_if_the_person_says_so(
    root: Path, home: Path, path: str
) -> None:
    new = [{"old": "", "new": "x = 1\n"}]
    says = error_of(verify(invocation_in(root, home), new, path=path, apply=True))
    assert "this server may not write" in says or "outside" in says
    assert not (root / path).exists()


def test_files_that_match_a_pattern_are_written(root: Path, home: Path) -> None:
    async def run() -> list[Any]:
        async with connected(invocation_in(root, home), writable=["docs/*.md"]) as client:
            new = [{"old": "", "new": "text\n"}]
            return [
                await client.call_tool("verify_edit", {"path": path, "edits": new, "apply": True})
                for path in ("docs/a.md", "other.py")
            ]

    written, refused = asyncio.run(run())
    assert json.loads(text_of(written))["applied"]
    assert "--allow-write=other.py" in error_of(refused)
    assert ((root / "docs/a.md").exists(), (root / "other.py").exists()) == (True, False)


def test_a_secret_is_not_written(root: Path, home: Path) -> None:
    new = [{"old": "", "new": "x = (\n  'ghp_'\n  '" + "Ab1" * 12 + "'\n)\n"}]
    says = error_of(verify(invocation_in(root, home), new, path="new.py", apply=True))
    assert "new.py:2: this looks like a secret" in says
    assert not (root / "new.py").exists()


@pytest.mark.slow
def test_a_file_that_changes_meanwhile_is_left_alone(root: Path, home: Path) -> None:
    file = root / "prices.py"
    stale = verify(
        invocation_in(root, home), FINE, lambda: file.write_text(CODE + "x = 1\n"), apply=True
    )
    assert "stale: prices.py has changed meanwhile" in error_of(stale)
    assert file.read_text() == CODE + "x = 1\n"


@pytest.mark.parametrize(
    ("edits", "path", "says"),
    [
        ([*FINE, ABSENT], "prices.py", "edit 2: the text 'absent' is there 0 times"),
        (json.dumps([*FINE, ABSENT]), "prices.py", "edit 2: the text 'absent'"),
        ([{"old": "price", "new": ""}], "prices.py", "edit 1: the text 'price' is there 4 times"),
        ([{"old": "", "new": ""}], "prices.py", "is empty, but the file exists"),
        ([NEW, {"old": "a", "new": "b"}], "other.py", "edit 2: the text 'a' is there 2 times"),
        (FINE, "other.py", "cannot be there: the file does not exist"),
        ([NEW], "env/lib/a.pth", "in a folder of dependencies"),
        (FINE, "./.git/config", ".git/config: records, version control data and `.env` files"),
        ([NEW], ".agentfs/a", ".agentfs/a: records, version control data and `.env` files"),
        ([ABSENT], "a/.env.local", "a/.env.local: records, version control data"),
        (FINE, "../prices.py", "../prices.py is outside the project"),
        ([{"old": "a"}], "prices.py", "'new' is a required property"),
    ],
)
def test_an_edit_that_does_not_fit_is_an_error(
    root: Path, home: Path, edits: Any, path: str, says: str
) -> None:
    assert says in error_of(verify(invocation_in(root, home), edits, path=path))


def test_without_permission_nothing_is_written(root: Path, home: Path) -> None:
    async def run() -> Any:
        async with connected(invocation_in(root, home)) as client:
            given = {"path": "prices.py", "edits": FINE, "apply": "true"}
            return await client.call_tool("verify_edit", given)

    assert "remora mcp --allow-write" in error_of(asyncio.run(run()))
    assert (root / "prices.py").read_text() == CODE


def test_edits_keep_the_ends_of_lines() -> None:
    edits = [{"old": "b\nc", "new": "x\ny"}]
    assert edited(b"a\r\nb\r\nc", edits) == b"a\r\nx\r\ny"
    with pytest.raises(UsageError, match="does not exist"):
        edited(None, edits)


def test_the_tools_cost_few_tokens(root: Path, home: Path) -> None:
    async def size(*, all_tools: bool) -> float:
        invocation = invocation_in(root, home)
        async with connected(invocation, allow_run=True, all_tools=all_tools) as client:
            tools = (await client.list_tools()).tools
            return (
                sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools)
                / 4
            )

    assert asyncio.run(size(all_tools=False)) <= 700
    assert asyncio.run(size(all_tools=True)) <= 1200
