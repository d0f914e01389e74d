"""Every Python block of the user's pages runs, and the example agent works as its page says."""

import asyncio
import os
import re
import subprocess
from pathlib import Path

import pytest

from remora.agents.definition.agent_yaml import AgentDefinition
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.operations import BUILT_IN
from remora.hub import client
from remora.runs.execution.run import NoObserver, RunRequest
from remora.runs.records.change_set_files import job_diff
from remora.runs.records.results import read_run
from remora.trace.stream.line_builder import utc_now
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.analyze.session import execute_plan
from tests.scripted_model import ScriptedModel

DOCS = Path(__file__).parent.parent.parent / "docs"
PRINTS = "def f(a):\n    print(a)\n    b = a + 1\n    print(b)\n    return b\n"


def _blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", _blocks("library.md", "python"))
def test_a_block_of_the_library_page_runs(block: str) -> None:
    exec(compile(block, "docs/library.md", "exec"), {})


def test_the_run_of_the_library_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['E', 'F']\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "src/a.py").write_text("import os\n\n\ndef f(a):\n    return a == None\n")
    for name in list(os.environ):
        if name.startswith(("XDG_", "REMORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(root)
    (block,) = _blocks("library.md", "python run")
    exec(compile(block, "docs/library.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        "1 planned",
        "node:src/a.py:__module__ verified",
        "1 accepted",
        "## Remora: 2 of 2 findings fixed",
    ]
    assert (root / "src/a.py").read_text() == "def f(a):\n    return a is None\n"


@pytest.mark.parametrize(
    ("use", "printed"), [("record", "It has 3 lines. 3 lines"), ("offline", "3 lines")]
)
def test_the_recordings_of_the_library_page(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    use: str,
    printed: str,
) -> None:
    for name in list(os.environ):
        if name.startswith(("XDG_", "REMORA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "a.py").write_text("a = 1\nb = 2\nc = 3\n")
    monkeypatch.chdir(tmp_path)
    (block,) = _blocks("library.md", f"python {use}")
    exec(compile(block, "docs/library.md", "exec"), {})
    assert capsys.readouterr().out == f"{printed}\n"
    report = verify_all(TraceFolder(tmp_path))
    assert [len(stream.problems) for stream in report.streams] == [0, 0]


def test_the_hook_of_the_library_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "a.py").write_text("def f(a: int) -> int:\n    return a\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(client, "_HOOK_DEADLINE", 30.0)
    (block,) = _blocks("library.md", "python hook")
    exec(compile(block, "docs/library.md", "exec"), {})
    shown = {"node:a.py:f": {"signature": "def f(a: int) -> int", "complexity": 1}}
    assert capsys.readouterr().out == f"{shown}\n"


def test_the_program_of_the_hub_page_reports_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "src/shop").mkdir(parents=True)
    (tmp_path / "src/shop/cart.py").write_text("def load_orders(path): pass\n")
    monkeypatch.chdir(tmp_path)
    (block,) = _blocks("reference/hub.md", "python")
    generous = block.replace("deadline=0.5", "deadline=20")
    exec(compile(generous, "docs/reference/hub.md", "exec"), {})
    said = "node:src/shop/cart.py:load_orders def load_orders(path) None fresh\n"
    assert capsys.readouterr().out == said


def test_the_agent_of_the_agents_page_removes_the_print_calls(tmp_path: Path) -> None:
    root = tmp_path / "project"
    folder = root / ".remora" / "agents" / "noprint"
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text(_blocks("reference/agents.md", "yaml")[0])
    remove, candidates = _blocks("reference/agents.md", "python-script")[:2]
    (folder / "remove_print.pym").write_text(remove)
    (folder / "candidates.pym").write_text(candidates)
    (root / "a.py").write_text(PRINTS)

    caller = Invocation(environ={"HOME": str(tmp_path)}, folder=root, root=root)
    wish = RunRequest(operations=("noprint",))
    prepared = prepare(caller, wish)
    model = ScriptedModel([])
    asyncio.run(execute_plan(prepared, model, NoObserver(), utc_now))
    prepared.close()

    run = read_run(prepared.project, prepared.run_id)
    assert [job.status for job in run.jobs] == ["verified"]
    assert run.jobs[0].counts.decided_by == {"rule": 3, "model": 0, "fallback": 0, "escalation": 0}
    diff = job_diff(prepared.project, run.jobs[0])
    assert [line for line in diff.splitlines() if line[:1] == "-"][1:] == [
        "-    print(a)",
        "-    print(b)",
    ]
    assert (root / "a.py").read_text() == PRINTS


def test_the_agents_page_names_every_key_need_and_check() -> None:
    page = (DOCS / "reference/agents.md").read_text(encoding="utf-8")
    names = {*AgentDefinition.model_fields, *BUILT_IN.needs, *BUILT_IN.checks}
    assert not {name for name in names if f"`{name}" not in page}
