"""Every `run` step of action.yml, executed as a runner does, in a sample repository."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
import yaml

from tests.ci.github_server import github_server
from tests.cli.conftest import git, write
from tests.runs.report.sarif_schema import LOG

REPOSITORY = Path(__file__).parents[2]
REMORA = Path(sys.executable).parent / "remora"
UNUSED = 'import os\n\n\ndef load():\n    """Read."""\n    return 1\n'
FIXED = 'def load():\n    """Read."""\n    return 1\n'
RULES = "[tool.ruff.lint]\nselect = ['F']\n"
_EXPRESSION = re.compile(r"\$\{\{ ([^}]+) \}\}")


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
    return found


@dataclass
class Runner:
    """Runs the steps of a composite action, with what GitHub documents of expressions and files."""

    root: Path
    folder: Path
    inputs: Mapping[str, str]
    values: dict[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    log: str = ""

    def __post_init__(self) -> None:
        self.folder.mkdir()
        defaults = {name: each.get("default", "") for name, each in action()["inputs"].items()}
        assert set(self.inputs) <= set(defaults)
        self.values["github.action_path"] = str(REPOSITORY)
        for name, default in defaults.items():
            self.values[f"inputs.{name}"] = self.inputs.get(name, self._evaluated(default))

    def run(self) -> int:
        """Run the steps until one fails, and return its exit code."""
        for step in action()["runs"]["steps"]:
            if not self._is_wanted(step.get("if")):
                continue
            if "uses" in step:
                self._upload(step)
                continue
            done = self._step(step)
            self.log += done.stdout + done.stderr
            if done.returncode:
                return done.returncode
        return 0

    def _is_wanted(self, condition: str | None) -> bool:
        if condition is None:
            return True
        shape = re.fullmatch(r"(inputs\.\w+) (==|!=) '(\w*)'", condition)
        assert shape, condition
        return (self.values[shape[1]] == shape[3]) == (shape[2] == "==")

    def _upload(self, step: Mapping[str, Any]) -> None:
        """What is uploaded exists."""
        given = step["with"].get("sarif_file") or step["with"]["path"]
        assert Path(self._evaluated(given)).exists()

    def _step(self, step: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        assert "${{" not in step["run"], "a value must not become part of a script"
        assert step["shell"] == "bash"
        files = {name: self.folder / name for name in ("output", "summary")}
        files["output"].write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.root,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
                "RUNNER_TEMP": str(self.folder),
                "GITHUB_OUTPUT": str(files["output"]),
                "GITHUB_STEP_SUMMARY": str(files["summary"]),
                **self.environ,
                **{name: self._evaluated(value) for name, value in step.get("env", {}).items()},
            },
            capture_output=True,
            text=True,
            check=False,
        )
        for line in files["output"].read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        return done

    def _evaluated(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self.values.get(found[1], ""), text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a branch that adds a finding, and an older finding."""
    root = write(tmp_path / "sample", {"old.py": UNUSED, "pyproject.toml": RULES})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    git(root, "switch", "-q", "-c", "work")
    # modules of these names would replace Python's, if a step looked for modules here
    hostile = dict.fromkeys(("json.py", "logging.py", "types.py"), "raise SystemExit(9)\n")
    write(root, {"new.py": UNUSED, "odd name.py": FIXED, **hostile})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "work")
    return root


@pytest.fixture
def without_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step is replaced by the Remora of this environment."""
    whole = action()
    first, *rest = whole["runs"]["steps"]
    assert first["id"] == "install"
    changed = {**first, "run": f'echo "program={REMORA}" >> "$GITHUB_OUTPUT"'}
    document = {**whole, "runs": {**whole["runs"], "steps": [changed, *rest]}}
    monkeypatch.setattr("tests.ci.test_action.action", lambda: document)


class Opened(NamedTuple):
    """The head of a pull request, and its files as GitHub lists them."""

    head: str
    files: list[dict[str, Any]]


def pull_request(root: Path, *paths: str) -> Opened:
    files = []
    for path in paths:
        blob = git(root, "rev-parse", f"HEAD:{path}").strip()
        patch = git(root, "diff", "main", "HEAD", "--", path).partition("\n@@")[2]
        files.append({"filename": path, "sha": blob, "patch": f"@@{patch}"})
    return Opened(git(root, "rev-parse", "HEAD").strip(), files)


def test_every_value_reaches_a_script_through_its_environment() -> None:
    for step in action()["runs"]["steps"]:
        assert ("run" in step) != ("uses" in step)
        assert "${{" not in step.get("run", "")
        assert re.fullmatch(r"[\w./-]+@v\d+", step.get("uses", "a@v1"))


@pytest.mark.slow
@pytest.mark.usefixtures("without_installation")
def test_a_pull_request_with_a_finding_fails_with_its_reports(root: Path, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    opened = pull_request(root, "new.py")
    event.write_text(json.dumps({"pull_request": {"number": 7, "head": {"sha": opened.head}}}))
    base = git(root, "rev-parse", "main").strip()
    values = {"github.event.pull_request.base.sha": base, "github.token": "of-actions"}
    inputs = dict.fromkeys(("comment", "sarif", "suggestions"), "true")
    inputs["operations"] = "lint docstring"
    with github_server() as github:
        github.head, github.files = opened
        environ = {
            "GITHUB_API_URL": github.url,
            "GITHUB_REPOSITORY": "ana/shop",
            "GITHUB_EVENT_PATH": str(event),
        }
        runner = Runner(root, tmp_path / "1", inputs, dict(values), environ)
        assert runner.run() == 1, runner.log
        assert "line=1::new.py:1: `os` imported but unused" in runner.log
        assert "old.py" not in runner.log
        assert runner.values["steps.check.outputs.problems"] == "1"
        reports = Path(runner.values["steps.check.outputs.reports"])
        jsonschema.validate(json.loads((reports / "remora.sarif").read_text()), LOG)
        assert "1 problem, 1 with a fix" in (tmp_path / "1/summary").read_text()
        assert "lint: `F401` `` `os` imported" in github.review_comments[0]["body"]
        assert "suggests a verified fix at 1 place" in github.comments[0]["body"]
        git(root, "apply", str(reports / "remora.patch"))
        git(root, "commit", "-q", "-a", "-m", "fix")
        again = Runner(root, tmp_path / "2", inputs, dict(values), environ)
        assert again.run() == 0, again.log
        (comment,) = github.comments
        assert "no problems" in comment["body"]
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.slow
@pytest.mark.usefixtures("without_installation")
def test_a_shallow_clone_lacks_its_base(root: Path, tmp_path: Path) -> None:
    """As after actions/checkout, which fetches one commit."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=work", f"file://{root}", str(clone))
    base = git(root, "rev-parse", "main").strip()
    values = {"github.event.pull_request.base.sha": base}
    runner = Runner(clone, tmp_path / "run", {"artifact": ""}, values)
    assert runner.run() == 1, runner.log
    assert "new.py" in runner.log
    assert "old.py" not in runner.log


@pytest.mark.slow
@pytest.mark.usefixtures("without_installation")
def test_a_whole_clone_stays_whole_and_knows_the_branch_by_its_remote(
    root: Path, tmp_path: Path
) -> None:
    git(root, "switch", "-q", "main")
    write(root, {"later.py": UNUSED})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "later, on main only")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--branch=work", f"file://{root}", str(clone))
    runner = Runner(clone, tmp_path / "run", {"artifact": "", "changed": "main"})
    assert runner.run() == 1, runner.log
    assert "new.py" in runner.log
    assert "later.py" not in runner.log
    assert git(clone, "rev-parse", "--is-shallow-repository").strip() == "false"
    odd = Runner(clone, tmp_path / "odd", {"changed": "--upload-pack=true"})
    assert odd.run() == 2
    assert "is not a revision" in odd.log


@pytest.mark.slow
@pytest.mark.usefixtures("without_installation")
def test_a_push_checks_the_named_paths(root: Path, tmp_path: Path) -> None:
    runner = Runner(root, tmp_path / "run", {"paths": "old.py\nodd name.py\n"})
    assert runner.run() == 1, runner.log
    assert "old.py:1" in runner.log
    assert "new.py" not in runner.log
    wrong = Runner(root, tmp_path / "wrong", {"paths": "gone.py"})
    assert wrong.run() == 2
    assert "gone.py does not exist" in wrong.log


@pytest.mark.slow
@pytest.mark.usefixtures("without_installation")
def test_known_problems_of_a_baseline_are_left_out(root: Path, tmp_path: Path) -> None:
    known = [str(REMORA), "check", "--baseline", "known.jsonl", "--update-baseline"]
    subprocess.run(known, cwd=root, check=True)
    write(root, {"new.py": f"import re\n{UNUSED}"})
    runner = Runner(root, tmp_path / "run", {"baseline": "known.jsonl"})
    assert runner.run() == 1, runner.log
    assert "new.py:1: `re` imported but unused" in runner.log
    assert "old.py" not in runner.log
    assert runner.values["steps.check.outputs.problems"] == "1"


@pytest.mark.slow
@pytest.mark.usefixtures("without_installation")
def test_a_job_without_an_environment_says_that_no_test_could_run(
    root: Path, tmp_path: Path
) -> None:
    write(root, {"new.py": "X = 1\n"})
    git(root, "add", "new.py")
    git(root, "commit", "-q", "-m", "code")
    untested = Runner(root, tmp_path / "1", {"command": "judge", "changed": "HEAD~1"})
    assert untested.run() == 0, untested.log
    assert "**Tests not judged**" in (tmp_path / "1/summary").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("without_installation")
def test_a_pull_request_is_judged(root: Path, tmp_path: Path) -> None:
    hollow = "def test_load():\n    assert True\n"
    write(root, {"test_new.py": hollow})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "test")
    write(root, {"test_later.py": hollow})  # of another step: it is not in the pull request
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7, "head": {"sha": "0" * 40}}}))
    base = git(root, "rev-parse", "main").strip()
    inputs = dict.fromkeys(("comment", "sarif", "suggestions"), "true") | {"command": "judge"}
    with github_server() as github:
        environ = {
            "GITHUB_API_URL": github.url,
            "GITHUB_REPOSITORY": "ana/shop",
            "GITHUB_EVENT_PATH": str(event),
        }
        values = {"github.event.pull_request.base.sha": base, "github.token": "of-actions"}
        runner = Runner(root, tmp_path / "1", inputs, values, environ)
        assert runner.run() == 1, runner.log
        assert "line=1::test_new.py:1: test_load: `True` is true whatever" in runner.log
        assert "test_later.py" not in runner.log
        assert runner.values["steps.check.outputs.problems"] == "2", runner.log
        reports = Path(runner.values["steps.check.outputs.reports"])
        jsonschema.validate(json.loads((reports / "remora.sarif").read_text()), LOG)
        assert "## Remora: 2 remarks" in (tmp_path / "1/summary").read_text()
        assert "`test_new.py:1`" in github.comments[0]["body"]
    push = Runner(root, tmp_path / "2", {"command": "judge"})
    assert (push.run(), "judge needs a pull request" in push.log) == (2, True)
    other = Runner(root, tmp_path / "3", {"command": "accept"})
    assert (other.run(), "accept is neither check nor judge" in other.log) == (2, True)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_first_step_installs_remora_for_itself(root: Path, tmp_path: Path) -> None:
    runner = Runner(root, tmp_path / "run", {"paths": "old.py"})
    assert runner.run() == 1, runner.log
    assert "old.py:1" in runner.log
    program = Path(runner.values["steps.install.outputs.program"])
    assert program.is_relative_to(tmp_path)
