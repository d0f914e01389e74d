"""Why lines of streams that are running, torn, damaged, or not an agent's: clear messages."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Remora, write


@pytest.fixture
def copied(ran: Ran, tmp_path: Path) -> Ran:
    """A copy of a project in which agents ran, and whose streams may be changed."""
    shutil.copytree(ran.root, tmp_path / "project", symlinks=True)
    return Ran(ran.remora, tmp_path / "project", ran.before, ran.analyzed)


def stream(ran: Ran) -> Path:
    return ran.root / ".agentfs/traces" / f"{ran.job['agent_id']}.jsonl"


def lines_of(ran: Ran) -> list[bytes]:
    return stream(ran).read_bytes().splitlines(keepends=True)


def why(ran: Ran) -> str:
    done = ran("trace", "why", ran.job["agent_id"])
    assert (done.code, done.err) == (0, "")
    return done.out.splitlines()[0]


def test_a_stream_without_an_end_was_interrupted_and_damage_is_named(copied: Ran) -> None:
    lines = lines_of(copied)
    (run,) = (copied.root / ".agentfs/runs").glob("*.jsonl")
    run.write_bytes(run.read_bytes() + b"{}\n")
    assert why(copied).startswith("Nothing failed: "), "a damaged run does not hide the cause"
    number = next(n for n, line in enumerate(lines) if b'"type":"tool_call"' in line)
    stream(copied).write_bytes(b"".join(lines[: number + 1]))
    turn = json.loads(lines[number])["turn"]
    assert why(copied).startswith(f"Interrupted at turn {turn}, after tool call: ")
    stream(copied).write_bytes(b"".join(lines)[:-40])
    assert why(copied).startswith("Interrupted at turn ")
    stream(copied).write_bytes(b"".join([*lines[:3], b"{}\n", *lines[4:]]))
    done = copied("trace", "why", copied.job["agent_id"], "--json")
    assert (done.code, "line 4" in done.error["message"]) == (1, True)


def test_a_run_is_not_an_agent(ran: Ran) -> None:
    run = ran.analyzed.document["run_id"]
    unknown = ran("trace", "why", "nobody", "--json")
    assert (unknown.code, "nobody" in unknown.error["message"]) == (1, True)
    for name in (run, "last"):
        done = ran("trace", "why", name, "--json")
        assert done.code == 2
        assert done.error["message"] == f"{run} is a run, not an agent"
        assert f"remora show {run}" in done.error["hint"]


def test_rules_that_fix_nothing_say_so(remora: Remora, tmp_path: Path) -> None:
    """With its fix, the line would be too long, and the project sets no length."""
    source = f'x = 1\nname = f"{{x}}"\ntext = "{"a" * 50} {{}} {{}}".format(\n    x.{"b" * 20},\n    x.{"c" * 20}\n)\n'
    write(tmp_path, {"a.py": source, ".git/HEAD": ""})
    remora("analyze", "-o", "lint", "--yes", cwd=tmp_path)
    done = remora("trace", "why", "a.py", cwd=tmp_path)
    said = "Nothing failed: the agent changed nothing: Nothing fixed; 1 finding"
    assert done.out.startswith(said)


@pytest.mark.slow
def test_a_line_names_the_accepted_change_that_wrote_it(poor: Remora, tmp_path: Path) -> None:
    first = 'def a(x):\n    """a\rb\n    c\n    d\n    e\n    """\n    return x'
    source = f"{first}\n\n\ndef b(x):\n    if x:\n        return 1\n    else:\n        return 2\n"
    settings = '[tool.ruff.lint]\nselect = ["RET"]\n'
    root = write(tmp_path / "p", {"a.py": source, "pyproject.toml": settings, ".git/HEAD": ""})
    run = poor("analyze", "-o", "lint", "--json", cwd=root).document["run_id"]
    error = poor("trace", "why", "a.py:14", "--json", cwd=root).error
    assert error["message"] == "no accepted change wrote a.py:14", "it is pending"
    poor("accept", "--untested", "last", "--all", cwd=root)
    second = (root / "a.py").read_text().split("\n\n\n")[1]
    for text, line in ((f"{first}\n\n\n{second}", 13), (f"x = 1\n{second}\n\n{first}\n", 5)):
        (root / "a.py").write_text(text)
        document = poor("trace", "why", f"a.py:{line}", "--json", cwd=root).document
        assert (document["run_id"], document["hunk"]["label"]) == (run, "RET505"), (
            "also if it moved"
        )
        assert document["hunk"]["diff"].count("+    return 2") == 1
        assert (document["turn"], document["decided_by"]) == (1, "rule")
        assert poor("trace", "why", f"a.py:{line - 1}", cwd=root).code == 1, "the user's line"
    said = poor("trace", "why", "a.py:5", cwd=root).out
    agent = poor("trace", "list", "--json", cwd=root).document["streams"][0]["agent_id"]
    assert said.startswith("lint wrote a.py:5: RET505\n  accepted on a command line, ")
    assert f"next: `remora trace packet {agent} --turn 1`, " in " ".join(said.split())
    own = f"def c():\n    return 2\n\n\n{first}\n"
    for text, line, said in (
        (source, 14, "no accepted change wrote a.py:14"),  # it was undone by hand
        (own, 2, "no accepted change wrote a.py:2"),
        (own, 99, "a.py has 11 lines"),
    ):
        (root / "a.py").write_text(text)
        error = poor("trace", "why", f"a.py:{line}", "--json", cwd=root).error
        assert error["message"] == said
