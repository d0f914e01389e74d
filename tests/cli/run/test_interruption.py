"""After any end of a run, streams are whole, the user's files unchanged, and no child process remains."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import SETTINGS, Remora, command, step_agent, tree, write

SECONDS = 30.0
ASKING = 120.0
"""For the jobs that ask the embedded model, on a machine that does other work too."""
FUNCTION = """

def read_{0}(path):
    try:
        return open(path).read()
    except:
        return ""
"""


@pytest.fixture
def long_project(tmp_path: Path) -> Path:
    """Forty jobs in each of which a model is asked once or twice: some seconds of work."""
    source = '"""Reads."""\n' + "".join(FUNCTION.format(i) for i in range(40))
    limits = "operations: {steps: {max_turns: 4}}\n"
    files = {"long.py": source, "pyproject.toml": SETTINGS, "remora.yaml": limits, **step_agent()}
    return write(tmp_path / "long", files)


def under_way(process: "subprocess.Popen[str]", root: Path) -> None:
    """Wait until a job has ended and another is being worked on."""
    end = time.monotonic() + ASKING
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        if any("job_end" in path.read_text() for path in (root / ".agentfs/runs").glob("*.jsonl")):
            return
        time.sleep(0.05)
    raise AssertionError("no job ended")


def children_of(pid: int) -> set[int]:
    """All descendants, in whatever session."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            new = {int(child) for child in task.read_text().split()}
            found |= new
            waiting += new
    return found


def are_gone(pids: set[int]) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_reported_and_recorded(
    remora: Remora, long_project: Path, sent: signal.Signals
) -> None:
    before = tree(long_project)
    process = remora.start("analyze", "-o", "steps", "--json", cwd=long_project)
    under_way(process, long_project)
    children = children_of(process.pid)
    assert children
    process.send_signal(sent)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted: your files are unchanged" in err
    told = remora("show", "last", cwd=long_project).out
    assert "analyze --resume" in told
    assert are_gone(children)
    assert tree(long_project) == before

    (run,) = remora("runs", "--json", cwd=long_project).document["runs"]
    assert run["status"] == "interrupted"
    document = remora("show", "last", "--json", cwd=long_project).document
    assert out.strip()
    assert "interrupted" in {job["status"] for job in document["jobs"]}
    assert document["totals"]["jobs"] == 40
    assert remora("trace", "verify", cwd=long_project).code == 0
    bases = long_project.parent / "home" / "cache" / "remora" / "roots"
    assert not [path for path in bases.glob("*/bases/*") if path.is_dir()]


@pytest.mark.slow
def test_interrupted_type_checks_end_at_once_and_are_not_repeated(
    remora: Remora, tmp_path: Path
) -> None:
    functions = "".join(f"\n\ndef f{i}():\n    return str({i})\n" for i in range(8))
    settings = '[project]\nname = "shop"\nrequires-python = ">=3.10"\n[tool.mypy]\nstrict = true\n'
    files = {f"m{number}.py": functions for number in range(12)}
    root = write(tmp_path / "typed", {"pyproject.toml": settings, **files})
    process = remora.start("analyze", "-o", "types", cwd=root)
    answers = tmp_path / "home/cache/remora/roots"
    end = time.monotonic() + SECONDS
    while not (kept := list(answers.glob("*/answers/types/*"))):
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert time.monotonic() - started < 2
    before = {path: path.stat().st_mtime_ns for path in kept}
    assert remora("analyze", "--resume", "last", cwd=root).code == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == before
    assert remora("accept", "--untested", "last", "--all", cwd=root).code == 0
    assert "def f7() -> str:" in (root / "m11.py").read_text()


@pytest.mark.parametrize(
    ("words", "where", "code"),
    [
        ("runs --json", ">&-", 0),
        ("runs --json", "2>&-", 0),
        ("--help", ">/dev/full", 3),
        ("runs --json", ">/dev/full", 3),
        ("runs --json", ">&- 2>&-", 0),
        ("review last", "<&-", 2),
        pytest.param("mcp", "<&-", 0, marks=pytest.mark.slow),
    ],
)
def test_output_that_goes_nowhere_is_reported_and_no_traceback(
    poor: Remora, project: Path, words: str, where: str, code: int
) -> None:
    line = f'"$@" {where}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *command(tuple(words.split()))],
        cwd=project, env=poor.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert ("No space left" in done.stderr) == (code == 3)
