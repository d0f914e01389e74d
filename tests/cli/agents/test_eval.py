"""`remora eval` on real projects, without a model."""

import itertools
import json
import os
import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Done, Remora, git, tree, write
from tests.isolation_levels import need
from tests.misbehaving_server import FAULTS
from tests.openai_server import Server, answer, openai_server, send_json
from tests.oracle_server import oracle_server

LOADER = """\
def name() -> str:
    return "a"


def size() -> float:
    return 1
"""
Calls = Iterable[tuple[str, dict[str, Any]]]
TYPES = ("eval", "-o", "types", "--json")
MANY = 20
ROOM = {"REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "12000"}
"""For servers that do not count tokens, so that each byte counts as one."""


@pytest.fixture
def loaders(tmp_path: Path) -> Path:
    root = write(tmp_path / "project", {"src/a.py": LOADER, "src/b.py": LOADER, "README.md": "#\n"})
    git(root, "init", "-q")
    return root


@contextmanager
def scripted(calls: Calls) -> Iterator[Server]:
    """Serve a model that makes these calls, one for each request."""
    left = iter(calls)
    with openai_server(lambda handler, *_: send_json(handler, answer(next(left)))) as server:
        yield server


def arm(done: Done, name: str = "rules") -> dict[str, Any]:
    (found,) = (each for each in done.document["operations"][0]["arms"] if each["name"] == name)
    return dict(found)


@pytest.mark.slow
def test_what_people_wrote_is_hidden_restored_and_compared(poor: Remora, loaders: Path) -> None:
    before = tree(loaders)
    done = poor(*TYPES, cwd=loaders)
    assert done.code == 0, done.err
    (found,) = done.document["operations"]
    assert done.document["kind"] == "eval"
    assert (found["operation"], found["found"], found["targets"]) == ("types", 4, 4)
    assert found["files"] == 2
    rules = arm(done)
    assert list(rules["outcomes"].values()) == [2, 0, 2, 0]
    assert (rules["precision"], rules["precision_ci95"]) == (0.5, [0.15, 0.85])
    assert (rules["requests"], rules["tokens"], rules["against_first"]) == (0, 0, None)
    first = found["examples"][0]
    assert (first["path"], first["name"]) == ("src/a.py", "size return")
    assert tree(loaders) == before
    assert not (loaders / ".agentfs").exists(), "the run is recorded in the copy"


@pytest.mark.slow
def test_results_are_kept_until_the_project_changes(poor: Remora, loaders: Path) -> None:
    kept = "using the result of an earlier command"
    first = poor(*TYPES, cwd=loaders)
    again = poor(*TYPES, cwd=loaders)
    assert kept not in first.err
    assert kept in again.err
    assert again.document == first.document
    assert kept not in poor(*TYPES, "--slots", "2", cwd=loaders).err
    (loaders / "README.md").write_text("# More\n")
    assert kept not in poor(*TYPES, cwd=loaders).err
    copies = [path for path in (poor.home / "cache").rglob("eval/*") if path.is_dir()]
    assert copies == []


def test_a_project_without_anything_to_hide(poor: Remora, tmp_path: Path) -> None:
    root = write(tmp_path / "empty", {"notes.txt": "x\n"})
    done = poor("eval", "-o", "types", cwd=root)
    assert (done.code, done.out) == (0, "types: nothing to hide\n\n")


@pytest.mark.slow
def test_files_that_cannot_be_read_are_left_out_and_named(poor: Remora, loaders: Path) -> None:
    (loaders / "src" / "broken.py").write_text("def f(:\n")
    (loaders / "src" / "latin.py").write_bytes(b"x = '\xe9'\n")
    done = poor(*TYPES, cwd=loaders)
    assert (done.code, done.document["operations"][0]["targets"]) == (0, 4)
    broken, latin = done.document["notes"]
    assert broken.startswith("left out src/broken.py: ")
    assert latin == "left out src/latin.py: not UTF-8 (line 1)"
    assert "left out src/broken.py" in done.err


@pytest.mark.slow
def test_an_arm_that_cannot_run_leaves_the_others(poor: Remora, loaders: Path) -> None:
    address = "http://127.0.0.1:9/v1"
    done = poor(*TYPES, "--arm", address, "--arm", "rules", cwd=loaders)
    assert done.code == 3
    assert "127.0.0.1:9" in arm(done, address)["error"]
    assert (arm(done)["outcomes"]["exact"], arm(done)["error"]) == (2, None)
    assert arm(done)["against_first"] is None, "the first arm has no results"


WRONG_ARMS = {
    "gpt": "use rules, embedded, configured or the address of a server",
    "rules,margin=1": "use decoding=auto|grammar|tool_call|json_schema|text, renderer=lines|",
    "rules,limit=all": "limit=N",
}


def test_wrong_words_are_refused_with_what_is_possible(poor: Remora, loaders: Path) -> None:
    for name, hint in WRONG_ARMS.items():
        done = poor("eval", "--arm", name, "--json", cwd=loaders)
        assert (done.code, hint in done.error["hint"]) == (2, True), name


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_evaluation_continues(
    poor: Remora, tmp_path: Path, number: signal.Signals
) -> None:
    root = write(tmp_path / "many", {f"src/m{n}.py": LOADER for n in range(MANY)})
    words = (*TYPES, "--seed", "3")
    process = poor.start(*words, cwd=root)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("[ 3/"):
            os.kill(process.pid, number)
            break
    _, err = process.communicate(timeout=30)
    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    stopped = re.search(rf"types, arm rules: stopped, (\d+ of {MANY}) jobs are done", err)
    assert (stopped is None) == (number == signal.SIGKILL)

    done = poor(*words, cwd=root)
    assert done.code == 0, done.err
    kept = stopped[1] if stopped else rf"\d+ of {MANY}"
    assert re.search(f"types, arm rules: continued, {kept} jobs are done", done.err)
    assert arm(done)["resumed"]
    assert (arm(done)["outcomes"]["exact"], arm(done)["outcomes"]["different"]) == (MANY, MANY)
    assert "[ 1/" in done.err
    assert f"/{MANY}]" not in done.err, "finished jobs are not repeated"
    assert not (root / ".agentfs").exists()


@pytest.mark.slow
def test_two_evaluations_of_a_project_at_a_time_are_refused(poor: Remora, tmp_path: Path) -> None:
    root = write(tmp_path / "many", {f"src/m{n}.py": LOADER for n in range(MANY)})
    process = poor.start(*TYPES, cwd=root)
    assert process.stderr is not None
    for line in process.stderr:
        if "started" in line:
            break
    try:
        second = poor(*TYPES, cwd=root)
        assert (second.code, second.error["hint"]) == (1, "wait until it ends")
    finally:
        process.kill()
        process.communicate(timeout=30)


TOTAL = "def total(order):\n    return sum(order.prices)\n"
DOCUMENTED = TOTAL.replace("\n", '\n    """Return what all items of an order cost."""\n', 1)


def test_a_server_that_writes_docstrings_is_compared_by_the_checks(
    poor: Remora, tmp_path: Path
) -> None:
    root = write(tmp_path / "project", {"a.py": TOTAL, "b.py": TOTAL})
    with oracle_server(files={"a.py": DOCUMENTED, "b.py": DOCUMENTED}) as server:
        arms = ("--arm", "rules", "--arm", server.address)
        done = replace(poor, environ=ROOM)("eval", "-o", "docstring", "--json", *arms, cwd=root)
    assert done.code == 0, done.err
    assert arm(done)["outcomes"]["nothing"] == 2
    written = arm(done, server.address)
    assert written["jobs"] == {"verified": 2}
    assert (written["outcomes"]["verified"], written["model"]) == (2, "oracle")
    assert (written["turns"], written["invalid"], written["refused"]) == (4, 0, 0)
    assert written["requests"] == 2, "a docstring each, which rules submit"
    assert written["against_first"]["verified"] == 1.0


@pytest.mark.slow
def test_an_arm_whose_server_failed_is_measured_again(poor: Remora, tmp_path: Path) -> None:
    root = write(tmp_path / "project", {"a.py": TOTAL, "b.py": TOTAL})
    quick = replace(poor, environ={"REMORA_MODEL__RETRIES": "0", **ROOM})
    with openai_server(FAULTS["resets"]) as server:
        words = ("eval", "-o", "docstring", "--json", "--arm", server.address)
        first, again = (quick(*words, cwd=root) for _ in range(2))
    for done in (first, again):
        assert done.code == 3, done.err
        found = arm(done, server.address)
        assert found["outcomes"]["failed"] == 2
        assert "cannot reach the model server" in " ".join(found["job_errors"])
        assert "using the result of an earlier command" not in done.err


RATIOS = 'def ratio(text):\n    wide, high = text.split(":")\n    return int(wide) // int(high)\n'
TESTS: Calls = [
    ("write_test", {"function": "ratio", "code": f"def test_ratio():\n    assert {fact}\n"})
    for fact in ("ratio('9:4') == 3", "ratio('9:4') == 2")
]
SUBMIT = ("submit_result", {"summary": "nothing else"})


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_where_nothing_can_be_hidden_the_checks_decide(
    poor: Remora, tmp_path: Path, plain_python: ProjectPython
) -> None:
    need(2)
    root = write(tmp_path / "project", {"ratios.py": RATIOS})
    before = tree(root)
    environ = {**ROOM, "VIRTUAL_ENV": str(plain_python.python.parent.parent)}
    with scripted([*TESTS, SUBMIT]) as server:
        arms = ("--arm", "rules", "--arm", f"{server.address},memory=raw")
        process = replace(poor, environ=environ).start(
            "eval", "-o", "test", "--json", *arms, cwd=root
        )
        out, err = process.communicate(timeout=250)
    assert process.returncode == 0, err
    (found,) = json.loads(out)["operations"]
    rules, model = found["arms"]
    assert (found["basis"], found["targets"], found["files"]) == ("checks", 1, 1)
    assert rules["outcomes"] == {"verified": 0, "failed": 0, "nothing": 1}
    assert model["outcomes"] == {"verified": 1, "failed": 0, "nothing": 0}
    assert (model["requests"], model["invalid"], model["refused"]) == (2, 0, 1)
    assert (model["verified"], model["against_first"]["verified"]) == (1.0, 1.0)
    assert tree(root) == before


@pytest.mark.slow
def test_an_agent_of_the_users_is_compared_by_its_checks(poor: Remora, tmp_path: Path) -> None:
    dead = "    # total = order.total()\n"
    comment = f"def price_{{0}}(order):\n{dead}    order.close()\n    # or later\n{dead}    return order\n"
    root = write(tmp_path / "project", {f"m{n}.py": comment.format(n) for n in range(6)})
    assert poor("agents", "new", "tidy", cwd=root).code == 0
    with scripted(itertools.repeat(SUBMIT)) as server:
        arms = ("--arm", "rules", "--arm", server.address)
        words = ("eval", "-o", "tidy", "--slots", "5", "--json", *arms)
        done = replace(poor, environ=ROOM)(*words, cwd=root)
    assert done.code == 0, done.err
    (found,) = done.document["operations"]
    rules, model = found["arms"]
    assert (found["operation"], found["basis"]) == ("tidy", "checks")
    assert (found["found"], found["targets"], found["examples"]) == (6, 5, [])
    assert (rules["outcomes"]["verified"], model["outcomes"]["verified"]) == (5, 5)
    assert (rules["requests"], model["requests"]) == (0, 5), "rules opened, the model submits"
