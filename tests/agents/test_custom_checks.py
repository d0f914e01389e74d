"""A check that a project writes: true is a pass, and nothing else is."""

from typing import Any

import pytest

from remora.agents.verification import verify
from remora.bootstrap.operations import BUILT_IN
from remora.judges.submission import Submission
from remora.pym import Limits, load_source
from tests.agents.conftest import a_job, of_job

INPUT = "from remora.pym import Input, external\n"
FILES = INPUT + 'files: list = Input("files")\n'
TARGET = {"path": "mod.py", "first": 1, "last": 2, "own": [[1, 2]]}


def said(
    source: str,
    *,
    before: bytes | None = b"x = 1\n",
    after: bytes | None = b"x = 2\n",
    found: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], []),
) -> str:
    """What this check says; empty where the submission passes."""
    submission = Submission(
        **of_job(a_job("f", "own")),
        files={"mod.py": (before, after), "notes.txt": (None, b"new")},
        findings_before=lambda _: found[0],
        findings_after=lambda _: found[1],
        target=TARGET,
    )
    script = load_source(source, name="own")
    parses, check = verify(["parses", "own.pym"], submission, BUILT_IN.checks, {"own.pym": script})
    assert (parses.name, parses.ok, check.name) == ("parses", True, "own.pym")
    assert check.ok is (check.detail == "")
    return check.detail


def test_it_is_given_files_target_and_findings_and_says_what_is_wrong() -> None:
    assert said("True\n") == ""
    assert said("'the name is\\n too long'\n") == "the name is too long"
    shown = said(FILES + "repr([(f['path'], f['before'], f['after']) for f in files])\n")
    assert shown == "[('mod.py', 'x = 1\\n', 'x = 2\\n'), ('notes.txt', None, 'new')]"
    assert said(INPUT + 'target: dict = Input("target")\nstr(target["own"])\n') == "[[1, 2]]"
    source = (
        INPUT
        + 'findings_before: list = Input("findings_before")\n'
        + 'findings_after: list = Input("findings_after")\n'
        + 'f\'{findings_before[0]["code"]} {findings_before[0]["path"]} {len(findings_after)}\'\n'
    )
    assert said(source, found=([{"code": "F401", "line": 1}], [])) == "F401 mod.py 0"


@pytest.mark.parametrize(
    "value", ["False", "None", "1", "''", "' '", "[]", "{'ok': True}", "[True]"]
)
def test_any_other_value_is_not_a_pass(value: str) -> None:
    assert "expected true, or a text that describes the fault" in said(f"{value}\n")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("raise ValueError('odd')\n", "ValueError: odd"),
        ("while True:\n    pass\n", "limit"),
        ("x = 'a' * 10_000_000_000\nTrue\n", "limit"),
        ("def f():\n    return f()\nf()\nTrue\n", "recursion"),
        (INPUT + "@external\ndef read_text(path: str) -> str: ...\nread_text('a')\nTrue\n",
         "not granted"),
        (INPUT + 'other: str = Input("other")\nTrue\n', "missing argument"),
        ("'x' * 5_000_000\n", "the result is"),
    ],
)  # fmt: skip
def test_a_failing_check_script_is_not_a_pass(
    source: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.agents.verification.Limits", lambda: Limits(duration_s=0.5))
    assert words in said(source)


def test_a_long_word_is_cut_and_what_is_not_text_is_not_a_pass() -> None:
    assert len(said("'x' * 5000\n")) == 300
    assert said(FILES + "True\n", after=b"# -*- coding: latin-1 -*-\nx = '\xff'\n") == (
        "own.pym: a file is not UTF-8 text"
    )
