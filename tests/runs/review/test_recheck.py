"""What was merged passes all checks of its agent once more, or is a conflict that says why."""

from dataclasses import replace

import pytest

from remora.errors import OutsideError
from remora.runs.execution.run import RunRequest
from remora.sandbox.interpreters import ProjectPython
from remora.usecases.review.verdicts import accept
from tests.runs.conftest import Desk, Kept

YAML = """\
name: own
operation: own
goal: go
node_types: [function]
needs: always
tools:
  - {name: act, script: act.pym, description: do it, grants: [read_text, edit_text]}
candidates: {script: candidates.pym, grants: [read_text]}
verify: [CHECKS]
"""
HEAD = """\
from remora.pym import Input, external

@external
def read_text(path: str) -> str: ...

"""
ACT = (
    HEAD
    + """\
@external
def edit_text(path: str, line: int, expect: str, replace: str | None) -> dict: ...

edit_text("PATH", LINE, read_text("PATH").split("\\n")[LINE - 1], '''TEXT''')
{"result": "", "summary": "", "knowledge_delta": {}, "outcome": "success"}
"""
)
CANDIDATES = (
    HEAD
    + """\
done = '''TEXT''' in read_text("PATH")
actions = [{"tool": "submit_result" if done else "act", "args": {}, "reason": ""}]
{
    "result": actions,
    "summary": "",
    "knowledge_delta": {},
    "outcome": "success",
    "candidate_actions": actions,
}
"""
)
NOTHING_FORBIDDEN = """\
from remora.pym import Input
files: list = Input("files")
"it says what is forbidden" if "forbidden" in files[0]["after"] else True
"""
MODULE = """\
def load(
    path,
    depth,
):
    size = len(path)
    return size * depth


def other():
    return 1
"""
DOCUMENTED = '''\
):
    """Load.

    Args:
        path: What.
        depth: How deep.
    """'''
TESTED = "def load(n):\n    return n + 1\n"
TESTS = """\
from mod import load


def test_other():
    x = load(3)
    assert x


def test_one():
    x = load(3)
    assert x == 4
"""
TEST = "    assert x == 4\n\n\ndef test_load():\n    assert load(1) == 2"


def agent(desk: Desk, checks: str, path: str, line: int, text: str) -> None:
    """An agent that puts `text` in the place of one line, and those checks."""
    scripts = {"act.pym": ACT, "candidates.pym": CANDIDATES, "nothing.pym": NOTHING_FORBIDDEN}
    place = ".remora/agents/own/"
    desk.write({place + "agent.yaml": YAML.replace("CHECKS", checks)})
    for name, script in scripts.items():
        filled = script.replace("PATH", path).replace("LINE", str(line)).replace("TEXT", text)
        desk.write({place + name: filled})


def analyzed(desk: Desk, node: str = "mod.py:load") -> str:
    run_id = desk.analyze([], request=replace(RunRequest(operations=("own",), node=node)))
    (job,) = desk.view(run_id).jobs
    assert job.status == "verified", job.outcome.error
    return run_id


@pytest.fixture
def documents(desk: Desk) -> Desk:
    desk.write({"mod.py": MODULE})
    agent(desk, "parses, docstrings_only, documented, nothing.pym", "mod.py", 4, DOCUMENTED)
    return desk


def said(desk: Desk, run_id: str) -> str:
    """Why it is a conflict, and nothing was written."""
    before = desk.tree()
    done = accept(run_id, "mod.py:load", root=desk.project)
    assert desk.tree() == before
    assert done.accepted == []
    assert desk.job(run_id, "load").review.state == "conflict"
    (conflict,) = done.conflicts
    return str(conflict["detail"])


def test_a_merge_that_passes_is_written(documents: Desk) -> None:
    run_id = analyzed(documents)
    mine = MODULE.replace("return 1", "return 2")
    documents.write({"mod.py": mine})
    assert accept(run_id, "mod.py:load", root=documents.project).conflicts == []
    assert documents.tree()["mod.py"].decode() == mine.replace("):", DOCUMENTED, 1)


@pytest.mark.parametrize(
    ("mine", "why"),
    [
        (MODULE.replace("def load(", "def read("), "fails docstrings_only: mod.py: more than"),
        (MODULE.replace("    path,", "    name,"), "fails documented: its docstring is outdated"),
        (MODULE + "# forbidden\n", "fails nothing.pym: it says what is forbidden"),
    ],
)
def test_a_merge_that_fails_is_a_conflict(documents: Desk, mine: str, why: str) -> None:
    run_id = analyzed(documents)
    documents.write({"mod.py": mine})
    assert said(documents, run_id).startswith(f"after the merge, it {why}")


def test_more_findings_are_a_conflict_for_agents_that_check_them(desk: Desk) -> None:
    """The user no longer uses a module that the agent imports; of others, see test_verdicts."""
    desk.write({"mod.py": MODULE.replace("return 1", "return os.name")})
    agent(desk, "parses, no_new_findings", "mod.py", 1, "import os\n\n\ndef load(")
    run_id = analyzed(desk)
    desk.write({"mod.py": MODULE})
    assert said(desk, run_id) == "the merged file has 1 findings, yours 0"


def test_an_undefined_name_is_a_conflict_for_every_agent(desk: Desk) -> None:
    """The user no longer defines a name that the agent uses."""
    desk.write({"mod.py": MODULE + "\n\nBASE = 1\n"})
    agent(desk, "parses", "mod.py", 5, "    size = len(path) + BASE")
    run_id = analyzed(desk)
    desk.write({"mod.py": MODULE})
    assert said(desk, run_id) == (
        "after the merge, it fails defined_names: mod.py:5: Undefined name `BASE`"
    )


def test_a_change_of_several_nodes_is_checked_for_all_of_them(desk: Desk) -> None:
    desk.write({"mod.py": 'def load():\n    return f"text"\n'})
    run_id = desk.analyze([], request=RunRequest(operations=("lint",)))
    desk.write({"mod.py": 'def load():\n    return f"text"\n\n\n# mine\n'})
    assert accept(run_id, root=desk.project, every=True).conflicts == []
    assert desk.tree()["mod.py"] == b'def load():\n    return "text"\n\n\n# mine\n'


def test_an_agent_that_is_not_what_it_was_proves_nothing(documents: Desk) -> None:
    run_id = analyzed(documents)
    documents.write({"mod.py": MODULE.replace("return 1", "return 2")})
    agent(documents, "parses", "mod.py", 4, DOCUMENTED)
    told = said(documents, run_id)
    assert told.startswith(
        "after the merge, it cannot be verified again: the agent own has changed"
    )


def test_an_unmerged_change_is_not_checked_again(documents: Desk) -> None:
    run_id = analyzed(documents)
    documents.write({".remora/agents/own/agent.yaml": "{"})
    assert accept(run_id, "mod.py:load", root=documents.project).conflicts == []


def test_onto_a_branch_the_branch_is_the_base(documents: Desk) -> None:
    documents.commit()
    run_id = analyzed(documents)
    documents.git("switch", "-q", "-c", "fixes")
    documents.write({"mod.py": MODULE + "# forbidden\n"})
    documents.commit()
    documents.git("switch", "-q", "main")
    documents.git("config", "user.name", "t")
    documents.git("config", "user.email", "t@example.org")
    done = accept(run_id, root=documents.project, git_branch="fixes", every=True)
    (conflict,) = done.conflicts
    assert conflict["detail"].startswith("after the merge, it fails nothing.pym")
    assert documents.git("rev-list", "--count", "main..fixes") == "1"


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory, plain_python: ProjectPython) -> Kept:
    """A project after a run that added a test."""
    desk = Desk(tmp_path_factory.mktemp("tested"))
    desk.write(
        {
            "mod.py": TESTED,
            "tests/test_mod.py": TESTS,
            "remora.yaml": f"python: {plain_python.python}\n",
        }
    )
    agent(desk, "test_only_adds, test_passes, test_kills_mutant", "tests/test_mod.py", 11, TEST)
    analyzed(desk)
    return Kept(desk)


@pytest.mark.slow
@pytest.mark.timeout(300)
class TestOfTests:
    """Tests are run again, in a copy of what the user has now."""

    @pytest.fixture
    def desk(self, tested: Kept) -> Desk:
        desk = tested.again()
        desk.write({"tests/test_mod.py": TESTS.replace("assert x\n", "assert x > 0\n")})
        return desk

    @pytest.fixture
    def run_id(self, desk: Desk) -> str:
        return desk.newest

    def test_that_still_passes(self, desk: Desk, run_id: str) -> None:
        assert accept(run_id, "mod.py:load", root=desk.project).conflicts == []
        text = desk.tree()["tests/test_mod.py"].decode()
        assert "assert x > 0" in text
        assert "assert load(1) == 2" in text

    def test_that_fails_now(self, desk: Desk, run_id: str) -> None:
        desk.write({"mod.py": TESTED.replace("n + 1", "n + 2")})
        assert said(desk, run_id).startswith("after the merge, it fails test_passes: ")

    def test_that_fails_in_another_environment_is_no_conflict(
        self, desk: Desk, run_id: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk.write({"mod.py": TESTED.replace("n + 1", "n + 2")})
        monkeypatch.setattr("remora.runs.review.recheck.environment_digest", lambda _: "other")
        with pytest.raises(OutsideError, match="is not the environment that `analyze` used"):
            accept(run_id, "mod.py:load", root=desk.project)

    def test_that_notices_nothing_any_more(self, desk: Desk, run_id: str) -> None:
        desk.write({"mod.py": "def real(n):\n    return n + 1\n\n\nload = real\n"})
        assert said(desk, run_id).startswith("after the merge, it fails test_")

    def test_that_met_others_in_the_same_lines(self, desk: Desk, run_id: str) -> None:
        """Both are kept side by side, which is a merge too."""
        other = "\n\ndef test_mine():\n    assert load(2) == 3\n"
        desk.write({"tests/test_mod.py": TESTS + other, "mod.py": TESTED.replace("1", "2")})
        assert said(desk, run_id).startswith("after the merge, it fails test_passes: ")
