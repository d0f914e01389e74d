"""What `remora check` could not fix, check or put into the patch is in its output and reports."""

import json
from dataclasses import replace
from pathlib import Path

import click
import jsonschema
import pytest

from remora.runs.report.check_document import check_schema
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Done, Remora, git, new_repository, on_terminal, write
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
class TestTakenOut:
    """A fix that a test of the project refuses, beside one that it does not."""

    LOST = "told.py: taken out by pytest (F541, line 1): test_told.py::test_source fails"

    @pytest.fixture
    def done(self, shop: Path, poor: Remora, plain_python: ProjectPython) -> Done:
        write(shop, {"told.py": TOLD, "test_told.py": TEST})
        user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parents[1])})
        words = ("check", "-o", "lint", "--gates", "--reports", "out")
        text = user(*words, cwd=shop)
        assert text.code == 1, text.err
        return text

    def test_the_terminal_says_why(self, done: Done) -> None:
        assert f"lint {self.LOST}" in done.out.splitlines()
        assert "told.py:1:" not in done.out

    def test_no_line_is_broken_in_a_word(
        self, shop: Path, poor: Remora, plain_python: ProjectPython
    ) -> None:
        write(shop, {"told.py": TOLD, "test_told.py": TEST})
        user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parents[1])})
        words = ("check", "-o", "lint", "--gates")
        seen = click.unstyle(on_terminal(user, shop, *words, columns=60, code=1))
        lines = [line for line in seen.splitlines() if not line.startswith("  remora ")]
        assert "  test_told.py::test_source fails" in lines
        assert max(map(len, lines)) <= 60

    def test_the_comment_says_why(self, done: Done, shop: Path) -> None:
        title, _, lost = report(shop).partition("Taken out by the project's own checks:\n\n")
        assert title
        assert lost.startswith(
            "- lint `told.py` taken out by pytest (F541, line 1): test\\_told.py"
        )

    def test_the_document_lists_it(self, done: Done, shop: Path) -> None:
        document = json.loads((shop / "out/remora.json").read_text())
        jsonschema.validate(document, check_schema())
        (lost,) = document["taken_out"]
        assert f"{lost['path']}: {lost['error']}" == self.LOST
        assert lost["operation"] == "lint"


class TestComment:
    """`remora.md`."""

    def test_it_marks_what_has_a_fix_and_gives_the_command(self, shop: Path, poor: Remora) -> None:
        write(shop, {"b.py": UNFIXABLE})
        out = poor("check", "--reports", "out", cwd=shop).out.splitlines()
        marked = [line for line in report(shop).splitlines() if line.endswith(" \\[\\*\\]")]
        assert [line[:10] for line in marked] == ["- `a.py:1`"]
        said = "Unless your tests object, this fixes 1 (marked \\[\\*\\]) of them:"
        assert f"\n{said}\n\n`{out[-1].strip()}`\n" in report(shop)

    def test_nothing_is_marked_if_all_or_none_have_a_fix(self, shop: Path, poor: Remora) -> None:
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


class TestUnparsed:
    """A file that cannot be parsed."""

    @pytest.fixture(autouse=True)
    def broken(self, shop: Path) -> None:
        write(shop, {"broken.py": BROKEN, "a.ipynb": "{}"})

    def test_it_is_an_error_of_github(self, shop: Path, poor: Remora) -> None:
        out = poor("check", "--format", "github", cwd=shop).out.splitlines()
        assert out[0].startswith(f"::error title=Remora,file={shop / 'broken.py'}::not checked: ")
        assert not any("ipynb" in line for line in out)

    def test_it_is_no_error_if_it_did_not_change(self, shop: Path, poor: Remora) -> None:
        words = ("check", "--changed", "--format", "github")
        assert "::error" in poor(*words, cwd=shop).out
        git(shop, "add", "-A")
        git(shop, "commit", "-q", "-m", "more")
        assert "::error" not in poor(*words, cwd=shop).out

    def test_it_is_a_notification_of_sarif(self, shop: Path, poor: Remora) -> None:
        log = poor("check", "--format", "sarif", cwd=shop).document
        jsonschema.validate(log, LOG)
        (invocation,) = log["runs"][0]["invocations"]
        assert invocation["executionSuccessful"] is False
        (notification,) = invocation["toolExecutionNotifications"]
        assert notification["message"]["text"].startswith("broken.py: line 1: ")


def test_a_notebook_alone_leaves_an_execution_successful(shop: Path, poor: Remora) -> None:
    write(shop, {"a.ipynb": "{}"})
    log = poor("check", "--format", "sarif", cwd=shop).document
    (invocation,) = log["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is True
    assert "toolExecutionNotifications" not in invocation


def test_a_file_that_the_patch_leaves_out_is_named(shop: Path, poor: Remora) -> None:
    write(shop, {"a.py": UNUSED.replace("import os\n", f'import os\n\nTOKEN = "{TOKEN}"\n')})
    done = poor("check", "--reports", "out", cwd=shop)
    why = "which have a secret or cannot be in a patch"
    assert f"the patch leaves out changes of a.py, {why}" in done.err.splitlines()
    assert f"\n\nthe patch leaves out changes of a.py, {why}\n" in report(shop)
    assert (shop / "out/remora.patch").read_text() == ""
    assert poor("check", cwd=shop).err == "", "no patch is written"
