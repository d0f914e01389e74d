"""One analysis of `remora watch`: what is left for the next one, and files that change meanwhile."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.rmtree import remove_tree
from remora.runs.planning.source_files import read_modules
from remora.usecases.analyze.execute_plan import create_records
from remora.usecases.api_arguments import run_flags
from remora.usecases.watch.watch_pass import analyze_changes, pending_proposals
from remora.usecases.watch.watch_settings import WatchSettings, settings_hash
from tests.misbehaving_server import FAULTS, good
from tests.odd_files import ODD
from tests.openai_server import Handler, openai_server
from tests.platform_facilities import PASSED_ON

EMPTY = '"""A cart."""\n'
CART = (
    EMPTY
    + '''

class Cart:
    """A cart."""

    def add(self, item):
        self.items.append(item)
'''
)
DOCSTRINGS = WatchSettings(operations=("docstring",), concurrency=1, delay=2.0, max_jobs=50)


@pytest.fixture
def caller(tmp_path: Path) -> Invocation:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "cart.py").write_text(EMPTY)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        subprocess.run(["git", *who, *words], cwd=root, check=True)
    environ = {
        "HOME": str(tmp_path / "home"),
        **PASSED_ON,
        "REMORA_MODEL__RETRIES": "0",
        "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "20000",
    }
    caller = Invocation(environ=environ, folder=root, root=root)
    create_records(open_project(caller))
    return caller


def save(caller: Invocation, text: str) -> None:
    (caller.folder / "cart.py").write_text(text)


class Broken:
    """A model server that fails until it is repaired."""

    is_repaired = False

    def chat(self, handler: Handler, request: dict[str, Any], number: int) -> None:
        (good if self.is_repaired else FAULTS["fails"])(handler, request, number)


@contextmanager
def broken_model(caller: Invocation) -> Iterator[tuple[Broken, Invocation]]:
    broken = Broken()
    with openai_server(broken.chat) as server:
        yield broken, replace(caller, flags=run_flags(server.address, False, decisions="model"))


def test_a_job_with_an_error_is_tried_again_when_its_file_changes(caller: Invocation) -> None:
    save(caller, CART)
    with broken_model(caller) as (broken, caller):
        first = analyze_changes(caller, DOCSTRINGS, None)
        assert [job.status for job in first.failed] == ["error"]
        broken.is_repaired = True
        assert analyze_changes(caller, DOCSTRINGS, frozenset()).run_id == ""
        second = analyze_changes(caller, DOCSTRINGS, ["cart.py"])
        assert ([job.review for job in second.jobs], second.failed) == (["pending"], [])
        assert analyze_changes(caller, DOCSTRINGS, ["cart.py"]).run_id == ""


def test_an_outdated_proposal_stays_until_there_is_a_new_one(caller: Invocation) -> None:
    save(caller, CART)
    with broken_model(caller) as (broken, caller):
        broken.is_repaired = True
        analyze_changes(caller, DOCSTRINGS, None)
        broken.is_repaired = False
        save(caller, CART.replace("append(item)", "append(item, 1)"))
        assert analyze_changes(caller, DOCSTRINGS, ["cart.py"]).withdrawn == 0
        assert len(pending_proposals(open_project(caller))) == 1
        save(caller, EMPTY)
        assert analyze_changes(caller, DOCSTRINGS, ["cart.py"]).withdrawn == 1


def test_a_file_may_be_saved_while_it_is_read(
    caller: Invocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(caller, CART)

    def saved(*args: Any) -> Any:
        found = read_modules(*args)
        save(caller, "")
        return found

    with broken_model(caller) as (broken, caller):
        broken.is_repaired = True
        with monkeypatch.context() as patched:
            patched.setattr("remora.usecases.analyze.prepare_run.read_modules", saved)
            assert analyze_changes(caller, DOCSTRINGS, None).again == {"cart.py"}
        save(caller, CART)
        now = analyze_changes(caller, DOCSTRINGS, ["cart.py"])
    assert [job.review for job in now.jobs] == ["pending"]


def test_agents_and_ruffs_configuration_are_settings_and_other_tools_are_not(
    caller: Invocation,
) -> None:
    def known() -> str:
        return settings_hash(
            caller,
            WatchSettings(concurrency=1, delay=2.0, max_jobs=50, operations=()),
            open_project(caller),
        )

    (caller.folder / ".remora/agents/own").mkdir(parents=True)
    hashes = [known()]
    for make in ODD[:3]:  # no file is no setting
        make(caller.folder / ".remora/agents/own/agent.yaml")
        assert known() == hashes[0]
        remove_tree(caller.folder / ".remora")
        (caller.folder / ".remora/agents/own").mkdir(parents=True)
    for path, text in (
        (".remora/agents/own/agent.yaml", "name: own\n"),
        (".remora/agents/own/agent.yaml", "name: other\n"),
        ("pyproject.toml", "[tool.ruff]\nline-length = 90\n"),
        ("pyproject.toml", "[tool.ruff]\nline-length = 80\n"),
        ("ruff.toml", 'lint.select = ["F"]\n'),
        ("ruff.toml", 'lint.select = ["E"]\n'),
    ):
        (caller.folder / path).write_text(text)
        hashes.append(known())
    assert len(set(hashes)) == len(hashes)
    (caller.folder / "ruff.toml").unlink()
    before = known()
    other = '[project]\nname = "shop"\nversion = "2"\n[tool.ruff]\nline-length = 80\n'
    (caller.folder / "pyproject.toml").write_text(other)
    assert known() == before
