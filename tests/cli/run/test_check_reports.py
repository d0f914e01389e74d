"""What `remora check` could not fix, check or put into the patch is in its output and reports."""

import json
from dataclasses import replace
from pathlib import Path

import click
import jsonschema
import pytest

from remora.runs.report.check_document import check_schema
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Remora, git, new_repository, on_terminal, write
from tests.cli.run.test_check import RULES, UNFIXABLE, UNUSED
from tests.runs.report.sarif_schema import LOG

TOKEN = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
BROKEN = "def load(:\n    pass\n"
TOLD = 'GREETING = f"hello"\n'
TEST = """\
from pathlib import Path


def test_source():
    assert 'f"' in Path("told.py").read_text()
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", {"a.py": UNUSED, "pyproject.toml": RULES})
    return new_repository(root)


def report(root: Path) -> str:
    return (root / "out/remora.md").read_text()


@pytest.mark.slow
def test_a_fix_that_a_test_refuses_is_reported_everywhere(
    shop: Path, poor: Remora, plain_python: ProjectPython
) -> None:
    """It stands beside a fix that no test refuses."""
    write(shop, {"told.py": TOLD, "test_told.py": TEST})
    user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parents[1])})
    words = ("check", "-o", "lint", "--gates")
    done = user(*words, "--reports", "out", cwd=shop)
    assert done.code == 1, done.err
    said = "told.py: taken out by pytest (F541, line 1): test_told.py::test_source fails"
    assert f"\nlint {said}" in done.out
    assert "told.py:1:" not in done.out
    title, _, lost = report(shop).partition("Taken out by the project's own checks:\n\n")
    assert title
    assert lost.startswith("- lint `told.py` taken out by pytest (F541, line 1): test\\_told.py")
    document = json.loads((shop / "out/remora.json").read_text())
    jsonschema.validate(document, check_schema())
    (one,) = document["taken_out"]
    assert f"{one['path']}: {one['error']}".startswith(said)
    assert one["operation"] == "lint"
    seen = click.unstyle(on_terminal(user, shop, *words, columns=60, code=1))
    lines = [line for line in seen.splitlines() if not line.startswith("  remora ")]
    assert "  test_told.py::test_source fails:" in "\n".join(lines), "no line is broken in a word"
    assert max(map(len, lines)) <= 60


class TestComment:
    """`remora.md`."""

    def test_it_marks_what_has_a_fix_and_gives_the_command(self, shop: Path, poor: Remora) -> None:
        write(shop, {"b.py": UNFIXABLE})
        out = poor("check", "--reports", "out", cwd=shop).out.splitlines()
        marked = [line for line in report(shop).splitlines() if line.endswith(" \\[\\*\\]")]
        assert [line[:10] for line in marked] == ["- `a.py:1`"]
        said = "Unless your tests object, this fixes 1 (marked \\[\\*\\]) of them:"
        assert f"\n{said}\n\n`{out[-1].strip()}`\n" in report(shop)
        # nothing is marked if all or none have a fix
        (shop / "b.py").unlink()
        assert poor("check", "--reports", "out", cwd=shop).code == 1
        assert "this fixes all of them:" in report(shop)
        assert "\\[" not in report(shop)
        write(shop, {"a.py": UNFIXABLE})
        assert poor("check", "--reports", "out", cwd=shop).code == 1
        assert report(shop).startswith("## Remora: 1 problem, 0 with a fix\n")
        assert "remora analyze" not in report(shop)

    def test_it_says_how_many_known_problems_are_left_out(self, shop: Path, poor: Remora) -> None:
        words = ("check", "--baseline", "known.jsonl", "--reports", "out")
        assert poor(*words, "--update-baseline", cwd=shop).code == 0
        assert poor(*words, cwd=shop).code == 0
        assert report(shop) == "## Remora: no new problems in 1 file\n\n1 known problem left out.\n"


@pytest.mark.slow
def test_a_file_that_cannot_be_parsed_is_an_error_until_it_is_committed(
    shop: Path, poor: Remora
) -> None:
    write(shop, {"broken.py": BROKEN, "a.ipynb": "{}"})
    log = poor("check", "--format", "sarif", cwd=shop).document
    jsonschema.validate(log, LOG)
    (invocation,) = log["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("broken.py: line 1: ")
    out = poor("check", "--format", "github", cwd=shop).out.splitlines()
    assert out[0].startswith(f"::error title=Remora,file={shop / 'broken.py'}::not checked: ")
    assert not any("ipynb" in line for line in out)
    words = ("check", "--changed", "--format", "github")
    assert "::error" in poor(*words, cwd=shop).out
    git(shop, "add", "-A")
    git(shop, "commit", "-q", "-m", "more")
    assert "::error" not in poor(*words, cwd=shop).out
    (shop / "broken.py").unlink()
    log = poor("check", "--format", "sarif", cwd=shop).document
    (invocation,) = log["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is True, "a notebook alone is no error"
    assert "toolExecutionNotifications" not in invocation


def test_a_file_that_the_patch_leaves_out_is_named(shop: Path, poor: Remora) -> None:
    write(shop, {"a.py": UNUSED.replace("import os\n", f'import os\n\nTOKEN = "{TOKEN}"\n')})
    done = poor("check", "--reports", "out", cwd=shop)
    why = "which have a secret or cannot be in a patch"
    assert f"the patch leaves out changes of a.py, {why}" in done.err.splitlines()
    assert f"\n\nthe patch leaves out changes of a.py, {why}\n" in report(shop)
    assert (shop / "out/remora.patch").read_text() == ""
    assert poor("check", cwd=shop).err == "", "no patch is written"
