"""`remora check` reports what `analyze` would change, and leaves nothing behind."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

import remora as library
from remora.runs.report.check_document import check_schema
from tests.cli.conftest import Remora, git, new_repository, write
from tests.cli.run.test_interruption import FUNCTION
from tests.runs.report.sarif_schema import LOG

RULES = "[tool.ruff.lint]\nselect = ['F', 'B']\n"
UNUSED = 'import os\n\n\ndef load():\n    """Read."""\n    return 1\n'
WRONG = '''def scale(value, factor):
    """Scale a value.

    Args:
        value: What is scaled.
        scale_factor: By what.
    """
    return value * factor
'''
UNFIXABLE = WRONG.replace("scale_factor: By what", "ndigits: The number of digits")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with one commit, a finding of ruff and a contradiction."""
    root = tmp_path / "shop"
    write(root, {"a.py": UNUSED, "b.py": WRONG, "pyproject.toml": RULES, "README.md": "# Shop\n"})
    return new_repository(root)


@pytest.fixture
def everything(shop: Path, poor: Remora) -> Iterator[None]:
    """After the test, the project, git's refs and the user's state are what they were."""
    before = _all_of(shop, poor)
    yield
    assert _all_of(shop, poor) == before


def _all_of(root: Path, user: Remora) -> tuple[object, ...]:
    files = {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    refs = git(root, "for-each-ref")
    records = [str(path) for path in user.home.glob("state/remora/roots/**/*")]
    own = {name: content for name, content in files.items() if "/.git/" not in name}
    return own, refs, records


def test_files_that_git_ignores_are_left_out(shop: Path, poor: Remora) -> None:
    ignored = {"gen.py": UNUSED, "sub/gen.py": UNUSED, "sub/deep/x_pb2.py": UNUSED}
    write(shop, {**ignored, "sub/kept.py": UNUSED, ".gitignore": "gen.py\n*_pb2.py\n"})
    found = poor("check", "-o", "lint", "--json", cwd=shop).document
    assert {each["path"] for each in found["problems"]} == {"a.py", "sub/kept.py"}


def test_edits_that_need_each_other_have_the_same_group(shop: Path, poor: Remora) -> None:
    imports = "import os\n\nimport sys\n\nfrom typing import List\n"
    uses = '\nprint(sys)\n\n\ndef load(a: List[int]) -> None:\n    """Read."""\n'
    write(shop, {"a.py": imports + uses, "pyproject.toml": RULES.replace("'B'", "'UP'")})
    (change,) = poor("check", "a.py", "-o", "lint", "--json", cwd=shop).document["changes"]
    (file,) = change["files"]
    edits = file["edits"]
    assert edits[-1]["text"] == "def load(a: list[int]) -> None:\n"
    assert [edit["start"] for edit in edits] == [1, 5, 10]
    own, *others = file["groups"]
    assert others == [others[0]] * 2
    assert own not in others


def test_docstrings_that_no_agent_works_on_are_no_problem(shop: Path, poor: Remora) -> None:
    write(shop, {"tests/test_b.py": WRONG, "_vendor/b.py": WRONG})
    (shop / "b.py").unlink()
    done = poor("check", "-o", "docstring", cwd=shop)
    assert (done.code, "no problems" in done.out) == (0, True)


@pytest.mark.usefixtures("everything")
def test_it_names_each_place_and_the_command_that_fixes_it_also_as_a_document(
    shop: Path, poor: Remora
) -> None:
    done = poor("check", cwd=shop)
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines() == [
        "a.py:1: lint F401: `os` imported but unused",
        "b.py:6: docstring renamed-parameter: scale: parameter `scale_factor` is documented but does not "
        "exist; the signature has `factor`",
        "2 problems in 2 files; unless your tests object, this fixes all of them:",
        "  remora analyze && remora accept last --all",
    ]
    assert poor("runs", cwd=shop).out.startswith("no runs yet")
    done = poor("check", "--json", cwd=shop)
    jsonschema.validate(done.document, check_schema())
    assert done.code == 1
    assert done.document["totals"] == {
        "problems": 2, "fixable": 2, "nodes": 4, "jobs": 2, "unreadable": [],
    }  # fmt: skip
    assert [each["path"] for each in done.document["changes"]] == ["a.py", "b.py"]
    printed = poor("schema", "check", cwd=shop).document
    assert printed == json.loads(json.dumps(check_schema()))
    # of the files that a hook passes, only Python files count
    done = poor("check", "README.md", "a.py", cwd=shop)
    assert (done.code, "analyze a.py &&" in done.out) == (1, True)
    none = poor("check", "README.md", "pyproject.toml", cwd=shop)
    assert (none.code, none.out) == (0, "nothing was checked: no Python code is selected\n")
    missing = poor("check", "gone.py", cwd=shop)
    assert (missing.code, "gone.py does not exist" in missing.err) == (2, True)


def test_stubs_are_neither_checked_nor_changed_nor_judged(shop: Path, poor: Remora) -> None:
    write(shop, {"b.py": "x = 1\n", "a.pyi": UNUSED, "b.pyi": WRONG, "c.pyi": WRONG})
    found = poor("check", "--json", cwd=shop).document
    assert (found["totals"]["nodes"], [each["path"] for each in found["problems"]]) == (3, ["a.py"])
    stub, both = poor("check", "a.pyi", cwd=shop), poor("check", "b.py", "b.pyi", cwd=shop)
    assert (stub.code, stub.out) == (0, "nothing was checked: no Python code is selected\n")
    assert stub.err == "not checked: *.pyi: 1 stub, which Remora does not check\n"
    assert (both.out, both.err) == ("no problems in 1 file\n", stub.err)
    refused = poor("analyze", "a.pyi", cwd=shop)
    assert (refused.code, "error: a.pyi is a stub" in refused.err) == (2, True)
    planned = poor("analyze", "--dry-run", "--json", cwd=shop).document["jobs"]
    assert {job["node_id"].rpartition(":")[0] for job in planned} == {"node:a.py"}
    judged = poor("judge", "--static", "--json", cwd=shop).document
    assert {problem["code"] for problem in judged["problems"]} == {"ruff"}


def test_what_ruff_reports_is_no_problem_and_a_name_like_an_option_is_checked(
    shop: Path, poor: Remora
) -> None:
    write(shop, {"-x.py": UNUSED, "b.py": "def load(path):\n    return path + unknown\n"})
    done = poor("check", "b.py", cwd=shop)
    said = "nothing that Remora can fix; ruff reports 1 finding (-v lists them)\n"
    assert (done.code, done.out) == (0, said)
    done = poor("check", "--", "-x.py", cwd=shop)
    assert (done.code, done.err) == (1, "")
    assert "-x.py:1: lint F401: `os` imported but unused" in done.out
    assert "remora analyze ./-x.py &&" in done.out


@pytest.mark.slow
def test_the_command_that_it_names_leaves_nothing_to_report(shop: Path, poor: Remora) -> None:
    command = poor("check", cwd=shop).out.splitlines()[-1]
    for words in f"{command} --untested".split("&&"):  # `accept` asks only in a terminal
        done = poor(*words.split()[1:], cwd=shop)
        assert done.code == 0, done.err
    done = poor("check", cwd=shop)
    assert (done.code, done.out) == (0, "no problems in 2 files\n")


@pytest.mark.slow
@pytest.mark.usefixtures("everything")
def test_the_diff_is_that_of_the_changes(shop: Path, poor: Remora) -> None:
    done = poor("check", "a.py", "--diff", cwd=shop)
    assert "--- a/a.py\n+++ b/a.py\n@@ -1,6 +1,3 @@\n-import os\n" in done.out


@pytest.mark.slow
@pytest.mark.usefixtures("everything")
def test_what_nobody_can_fix_is_reported_too(shop: Path, poor: Remora) -> None:
    (shop / "b.py").write_text(UNFIXABLE)
    done = poor("check", "b.py", cwd=shop)
    assert done.code == 1
    assert done.out.splitlines()[1:] == [
        "1 problem in 1 file, which needs a person or a model: edit it, or with a model, run",
        "  remora analyze --decisions model",
        "`--baseline FILE --update-baseline` accepts it as known",
    ]
    (shop / "b.py").write_text(WRONG)


def test_what_a_change_set_leaves_is_not_said_to_be_fixed(shop: Path, poor: Remora) -> None:
    """One of two contradictions in a docstring has a fix: the renamed entry, not the missing one."""
    (shop / "b.py").write_text(WRONG.replace("value, factor)", "value, factor, digits=True)"))
    done = poor("check", "b.py", "-o", "docstring", cwd=shop)
    assert "renamed-parameter" in done.out
    assert "missing-parameter" in done.out
    assert (
        "2 problems in 1 file; unless your tests object, this fixes 1 (marked [*]) of them:"
        in done.out
    )
    (marked,) = [line for line in done.out.splitlines() if line.endswith(" [*]")]
    assert "renamed-parameter" in marked


@pytest.mark.slow
def test_the_sarif_log_has_the_problems_of_the_text_and_a_fix_for_each_change(
    shop: Path, poor: Remora
) -> None:
    write(shop, {"a.py": f"import re\n{UNUSED}\n\ndef add(to=[]):\n    return to\n"})
    text = poor("check", cwd=shop).out
    log = json.loads(poor("check", "--format", "sarif", cwd=shop).out)
    jsonschema.validate(log, LOG)
    results = log["runs"][0]["results"]
    places = [each["locations"][0]["physicalLocation"] for each in results]
    listed = [f"{p['artifactLocation']['uri']}:{p['region']['startLine']}" for p in places]
    assert listed == [line.partition(": ")[0] for line in text.splitlines()[: len(listed)]]
    assert text.splitlines()[len(listed)].startswith("ruff reports")
    rules = [each["ruleId"] for each in results]
    assert rules == [*["remora/lint/F401"] * 2, "remora/docstring/renamed-parameter"]
    assert ["fixes" in each for each in results] == [True, False, True]
    clean = json.loads(poor("check", "README.md", "--format", "sarif", cwd=shop).out)
    assert clean["runs"][0]["results"] == [], "an upload of it closes the alerts that are fixed"


@pytest.mark.slow
def test_a_project_that_cannot_be_written_to_can_be_checked(shop: Path, poor: Remora) -> None:
    shop.chmod(0o500)
    try:
        assert poor("check", cwd=shop).code == 1
    finally:
        shop.chmod(0o700)


@pytest.mark.slow
def test_a_run_of_analyze_prints_the_same_annotations(shop: Path, poor: Remora) -> None:
    poor("analyze", cwd=shop)
    done = poor("report", "--format", "github", cwd=shop)
    assert [line.partition("::")[2].partition("::")[2] for line in done.out.splitlines()] == [
        "a.py:1: `os` imported but unused",
        "b.py:6: parameter `scale_factor` is documented but does not exist; the signature has `factor`",
    ]
    none = poor("report", "--format", "github", "--changed", cwd=shop)
    assert none.out == "not annotated: 2 problems on lines that did not change\n"
    assert poor("report", "--changed", cwd=shop).code == 2


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_check_removes_its_records(
    shop: Path, poor: Remora, tmp_path: Path, sent: signal.Signals
) -> None:
    """While it plans or runs; the file is long enough for both."""
    records = tmp_path / "records"
    records.mkdir()
    write(shop, {"long.py": "".join(f"import m{n}\n" + FUNCTION.format(n) for n in range(400))})
    user = Remora(poor.home, {"TMPDIR": str(records)})
    before = _all_of(shop, poor)
    process = user.start("check", cwd=shop)
    end = time.monotonic() + 30
    while not list(records.glob("remora-check-*/records/traces/*.jsonl")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(sent)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert out == ""
    assert list(records.glob("remora-check-*")) == []
    assert _all_of(shop, poor) == before


@pytest.mark.slow
def test_the_library_returns_what_the_command_prints(
    shop: Path, poor: Remora, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in poor.environment.items():
        monkeypatch.setenv(name, value)
    found = library.check(root=shop)
    assert next(each.text for each in found.problems) == "lint F401: `os` imported but unused"
    assert found.report.states == {"checked": 2}
    assert not (shop / ".agentfs").exists()


@pytest.mark.slow
def test_what_judges_the_changes_is_named_once(shop: Path, poor: Remora) -> None:
    done = poor("check", "a.py", "--gates", cwd=shop)
    assert done.err.count("checking the project: ruff, before the changes") == 1
    assert len(set(done.err.splitlines())) == len(done.err.splitlines())
    assert poor("-q", "check", "a.py", "--gates", cwd=shop).err == ""


@pytest.mark.slow
@pytest.mark.usefixtures("everything")
def test_annotations_are_on_changed_lines_only(shop: Path, poor: Remora) -> None:
    (shop / "a.py").write_text("import re\n" + UNUSED)
    done = poor("check", "--changed", "--format", "github", cwd=shop)
    path = str(shop / "a.py").replace(":", "%3A")
    assert done.code == 1
    assert done.out.splitlines()[:2] == [
        f"::warning title=Remora (lint F401),file={path},line=1::a.py:1: `re` imported but unused",
        "not annotated: 1 problem on lines that did not change",
    ]
    (shop / "a.py").write_text(UNUSED)
