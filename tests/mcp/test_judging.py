"""The tool `judge_change`: the judgement of `remora judge`, in an answer of limited size."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult

from remora.mcp.tool_list import MAX_DIFF
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Remora, git, new_repository, write
from tests.mcp.project import FILES, TEST, connected, error_of, invocation_in, text_of

HOLLOW = "\n\ndef test_nothing():\n    assert Cart().total() == 0 or True\n"
NO_RUN = {"what": "what needs code to run", "why": "the server runs without --allow-run"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", FILES)
    return new_repository(root)


def answers(shop: Path, home: Path, *calls: dict[str, Any]) -> list[Any]:
    """Return the answers of calls to a server that the official client starts."""

    words, environment = ["-m", "remora", "mcp"], Remora(home).environment
    server = StdioServerParameters(command=sys.executable, args=words, cwd=shop, env=environment)

    async def ask() -> list[Any]:
        async with Client(stdio_client(server, errlog=subprocess.DEVNULL)) as client:  # type: ignore[arg-type]
            found = [await client.call_tool("judge_change", arguments) for arguments in calls]
            return [json.loads(text_of(result)) for result in found]

    return asyncio.run(ask())


def refused(shop: Path, home: Path, *calls: dict[str, Any]) -> list[str]:
    async def run() -> list[CallToolResult]:
        async with connected(invocation_in(shop, home)) as client:
            return [await client.call_tool("judge_change", arguments) for arguments in calls]

    return [error_of(result) for result in asyncio.run(run())]


@pytest.mark.slow
def test_each_way_to_name_a_change_over_stdio(shop: Path, home: Path) -> None:
    write(shop, {"tests/test_cart.py": TEST + HOLLOW})
    diff = git(shop, "diff")
    git(shop, "commit", "-qam", "more")
    (committed,) = answers(shop, home, {"revisions": "HEAD~1..HEAD", "static": True})
    printed = Remora(home)("judge", "--static", "--json", "HEAD~1..HEAD", cwd=shop).document
    for document in (committed, printed):
        assert document.pop("seconds") >= 0
    assert committed == printed
    assert [problem["code"] for problem in committed["problems"]] == ["hollow test"]
    git(shop, "reset", "-q", "--hard", "HEAD~1")
    unchanged, given = answers(shop, home, {"staged": True}, {"diff": diff})
    assert (unchanged["files"], unchanged["problems"]) == (0, [])
    assert given["problems"] == committed["problems"]
    assert NO_RUN in given["unjudged"]
    assert NO_RUN not in committed["unjudged"]
    assert git(shop, "status", "--porcelain") == ""


@pytest.mark.slow
def test_many_remarks_are_cut(shop: Path, home: Path) -> None:
    tests = "".join(f"\n\ndef test_{n}():\n    assert {n} == {n}\n" for n in range(200))
    write(shop, {"tests/test_cart.py": TEST + tests})
    (document,) = answers(shop, home, {"static": True})
    assert document["cut"]["problems"]["total"] == 200
    assert len(json.dumps(document, separators=(",", ":"))) <= 20_000


@pytest.mark.slow
def test_a_change_that_cannot_be_judged_is_an_error(shop: Path, home: Path) -> None:
    option, unknown, both, stale, long = refused(
        shop,
        home,
        {"revisions": "--allow-unsandboxed"},
        {"revisions": "nothing..HEAD"},
        {"revisions": "HEAD", "staged": True},
        {"diff": "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"},
        {"diff": "x" * (MAX_DIFF + 1)},
    )
    assert "'--allow-unsandboxed' is not a git revision" in option
    assert "unknown git revision 'nothing'" in unknown
    assert "exclude each other" in both
    assert "the diff does not apply" in stale
    assert "is too long; call judge_change(revisions?, diff?, staged?, static?)" in long


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_tests_run_if_the_person_allows_runs(
    shop: Path, home: Path, plain_python: ProjectPython
) -> None:
    write(shop, {"shop/cart.py": FILES["shop/cart.py"].replace("- discount", "+ discount")})
    invocation = invocation_in(shop, home)
    used = {**invocation.environ, "VIRTUAL_ENV": str(plain_python.python.parent.parent)}

    async def run() -> CallToolResult:
        async with connected(replace(invocation, environ=used), allow_run=True) as client:
            return await client.call_tool("judge_change", {})

    document = json.loads(text_of(asyncio.run(run())))
    assert "unnoticed fault" in {problem["code"] for problem in document["problems"]}
    assert NO_RUN not in document["unjudged"]
