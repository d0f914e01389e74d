"""`analyze -o test` and what becomes of it, by rules; and a project that cannot run tests."""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Remora, git, tree, write
from tests.isolation_levels import need

SIZES = '''"""Sizes."""


def parse_size(text):
    """The number of bytes.

    >>> parse_size("10k")
    10240
    """
    if text.endswith("k"):
        return int(text[:-1]) * 1024
    return len(text)


def plural(count, word):
    """A count and its word.

    >>> plural(1, "pear")
    '1 pear'
    >>> plural(2, "pear")
    '2 pears'
    """
    if count == 1:
        return f"{count} {word}"
    return f"{count} {globals()['_mo' + 're'](word)}"


def _more(word):
    return f"{word}s"



def used(count):
    """What a test calls."""
    return count + 1
'''
TEST = "from sizes import used\n\n\ndef test_used():\n    assert used(1) == 2\n"


@pytest.fixture
def sizes(project: Path) -> Path:
    need(2)
    write(project, {"sizes.py": SIZES, "tests/test_other.py": TEST})
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "sizes")
    return project


@pytest.fixture
def active(poor: Remora, plain_python: ProjectPython) -> Remora:
    """The user, in an environment with pytest."""
    environment = str(plain_python.python.parents[1])
    return Remora(poor.home, {"VIRTUAL_ENV": environment})


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_way_through(active: Remora, sizes: Path) -> None:
    user, before = active, tree(sizes)
    done = user.start("analyze", "sizes.py", "-o", "test", "--json", cwd=sizes)
    out, err = done.communicate(timeout=240)
    assert done.returncode == 0, out + err
    assert tree(sizes) == before
    shown = user("show", "last", cwd=sizes).out
    assert "adds tests for 2 functions" in shown, shown
    assert re.search(
        r"(?m)^proposed: 2 of 2 missing tests added \(detect \d+ of \d+ planted faults, cover",
        shown,
    )
    assert "def test_plural" in user("diff", "last", "plural", cwd=sizes).out
    accepted = user("accept", "last", "--all", cwd=sizes)
    assert accepted.code == 0, accepted.err
    assert user("trace", "verify", "--all", cwd=sizes).code == 0
    after = (sizes / "tests/test_other.py").read_text()
    assert "def test_plural(" in after
    assert 'parse_size("10k") == 10240' in after
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=sizes,
        env={**os.environ, "PYTHONPATH": str(sizes), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert "3 passed" in ran.stdout
    assert (
        user("analyze", "sizes.py", "-o", "test", "--dry-run", "--json", cwd=sizes).document["jobs"]
        == []
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_modules_that_share_a_test_file_can_both_be_accepted(active: Remora, sizes: Path) -> None:
    names = {"parse_size": "parse_text", "plural": "several", "used": "other"}
    texts = re.sub("|".join(names), lambda found: names[found[0]], SIZES)
    write(sizes, {"texts.py": texts})
    shared = (
        "import sizes\nimport texts\n\n\ndef test_it():\n    assert sizes.used and texts.other\n"
    )
    write(sizes, {"tests/test_other.py": shared})
    git(sizes, "add", "-A")
    git(sizes, "commit", "-q", "-m", "texts")
    paths = ("sizes.py", "texts.py")
    done = active("analyze", *paths, "-o", "test", "--json", cwd=sizes).document
    assert len(done["jobs"]) == 2
    assert active("accept", "last", "--all", cwd=sizes).code == 0
    written = (sizes / "tests/test_other.py").read_text()
    for name in ("test_it", "test_parse_size", "test_parse_text"):
        assert written.count(f"def {name}(") == 1, written


def test_tested_functions_need_no_test(active: Remora, sizes: Path) -> None:
    planned = active("analyze", "-o", "test", "--dry-run", "--json", cwd=sizes)
    (job,) = planned.document["jobs"]
    assert {*job["nodes"]} >= {"node:sizes.py:parse_size", "node:sizes.py:plural"}
    assert "node:sizes.py:used" not in planned.out


def test_without_an_environment_it_says_what_to_do_and_other_operations_go_on(
    remora: Remora, sizes: Path
) -> None:
    done = remora("analyze", "-o", "test", "--json", cwd=sizes)
    assert done.code == 2
    assert "no .venv" in done.error["message"]
    planned = remora("analyze", "-o", "test", "--dry-run", cwd=sizes)
    assert planned.code == 0
    assert "these jobs cannot run yet" in planned.err
    assert "no .venv" in planned.err
    write(sizes, {"sizes.py": "import os\n" + SIZES})
    done = remora("analyze", "-o", "lint", "-o", "test", "--json", cwd=sizes)
    assert done.code == 0, done.err
    assert {job["operation"] for job in done.document["jobs"]} == {"lint"}
    assert "without an environment" in done.err


@pytest.mark.slow
def test_tests_that_cannot_start_end_the_run_before_it_begins(active: Remora, sizes: Path) -> None:
    write(sizes, {"tests/conftest.py": "import missing_plugin\n"})
    done = active("analyze", "-o", "test", "--json", cwd=sizes)
    assert done.code == 2
    assert "pytest cannot collect" in done.error["message"]
    assert "No module named 'missing_plugin'" in done.error["message"]
    assert "--collect-only" in done.error["hint"]
    assert active("runs", "--json", cwd=sizes).document["runs"] == []


PLUS = '''\
def plus(a):
    """One more.

    >>> plus(2)
    3
    """
    return a + 1
'''


@pytest.fixture
def bare(project: Path) -> Path:
    """A project with an environment of its own, in which nothing is installed."""
    need(2)
    venv.create(project / ".venv", with_pip=False)
    return write(project, {"plus.py": PLUS})


def checks(poor: Remora, root: Path) -> dict[str, Any]:
    found = poor("doctor", "--json", cwd=root).document["checks"]
    return {check["name"]: check for check in found}


def test_without_pytest_no_run_with_tests_begins_and_doctor_says_so(
    poor: Remora, bare: Path
) -> None:
    done = poor("analyze", "-o", "lint", "-o", "test", "--json", cwd=bare)
    assert done.code == 2
    interpreter = bare / ".venv" / "bin" / "python"
    assert done.error["message"].startswith(f"{interpreter} has no pytest")
    assert f"{interpreter} -m pip install pytest" in done.error["message"]
    assert "-o test" in done.error["hint"]
    assert not (bare / ".agentfs").exists()
    # a plan and other operations do without
    assert poor("analyze", "-o", "test", "--dry-run", cwd=bare).code == 0
    assert poor("analyze", "-o", "lint", "plus.py", cwd=bare).code == 0
    write(bare, {"data/ruff.toml": "nonsense [\n"})  # counts for no Python file
    told = checks(poor, bare)
    assert (told["tests"]["ok"], told["tests"]["needed"]) == (False, False)
    assert "has no pytest" in told["tests"]["detail"]
    assert told["settings"]["ok"]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("nowhere/python", "python: nowhere/python does not exist"),
        pytest.param("broken", "broken returned no result", marks=pytest.mark.slow),
    ],
)
def test_doctor_starts_the_interpreter_that_is_configured(
    poor: Remora, bare: Path, named: str, said: str
) -> None:
    write(bare, {"remora.yaml": f"python: {named}\n", "broken": "#!/bin/sh\nexit 1\n"})
    (bare / "broken").chmod(0o755)
    told = checks(poor, bare)["tests"]
    assert (told["ok"], told["needed"]) == (False, True)
    assert said in told["detail"]
    assert poor("doctor", cwd=bare).code == 1


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["", "shop"])
def test_doctor_has_ruff_read_the_projects_settings(
    poor: Remora, project: Path, folder: str
) -> None:
    assert checks(poor, project)["settings"]["ok"]
    settings = os.path.join(folder, "ruff.toml")  # noqa: PTH118 - as it is spelled
    write(project, {"shop/cart.py": PLUS, settings: 'lint.select = ["NOPE"]\n'})
    told = checks(poor, project)["settings"]
    assert (told["ok"], told["needed"]) == (False, True)
    assert "NOPE" in told["detail"]
    assert settings in told["detail"]
