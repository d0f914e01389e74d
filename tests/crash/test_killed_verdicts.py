"""After kill -9 during a verdict, or two commands at once, the record matches the files."""

import random
from collections.abc import Callable

import pytest

from remora.runs.review.journals import complete_journals
from remora.usecases.review.revert import revert
from remora.usecases.review.verdicts import accept, reject
from tests.crash.analyze_child import NODE
from tests.crash.conftest import run, start
from tests.runs.conftest import RULES, Desk, Kept

OLD = 'def load():\n    """Read."""\n    import re\n\n    return 1\n'
NEW = OLD.replace("    import re\n", "")
NAMES = [f"part{n}/m.py" for n in range(3)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    desk = Desk(tmp_path_factory.mktemp("three"))
    desk.write(dict.fromkeys(NAMES, OLD) | {"ruff.toml": RULES})
    desk.commit()
    desk.analyze()
    return Kept(desk)


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    desk = Desk(tmp_path_factory.mktemp("accepted"))
    desk.write(dict.fromkeys(NAMES, OLD) | {"ruff.toml": RULES})
    desk.analyze()
    accept(desk.newest, root=desk.project, every=True)
    return Kept(desk)


def states(desk: Desk) -> dict[str, str]:
    return {
        job.node_id.removeprefix("node:").partition(":")[0]: job.review.state
        for job in desk.view(desk.newest).jobs
    }


def texts(desk: Desk) -> dict[str, str]:
    return {name: (desk.root / name).read_text() for name in NAMES}


def accepts(desk: Desk) -> None:
    complete_journals(desk.project)
    assert complete_journals(desk.project).outcome == "none", "once is enough"
    expected = {name: NEW if state == "accepted" else OLD for name, state in states(desk).items()}
    assert texts(desk) == expected
    accept(desk.newest, root=desk.project, every=True)
    assert texts(desk) == dict.fromkeys(NAMES, NEW)


def branch(desk: Desk) -> None:
    """Each accepted change set has its commit, and in the files there is nothing."""

    def committed() -> list[str]:
        assert texts(desk) == dict.fromkeys(NAMES, OLD)
        is_there = desk.git("for-each-ref", "refs/heads/fixes")
        return desk.git("log", "--format=%s", "main..fixes").splitlines() if is_there else []

    recorded = [f"lint: {name}:load" for name, state in states(desk).items() if state == "accepted"]
    unrecorded = set(committed()) - set(recorded)
    assert set(recorded) <= set(committed())
    assert len(unrecorded) <= 1, "the one that was being accepted"
    done = accept(desk.newest, root=desk.project, git_branch="fixes", every=True)
    assert len(done.already) == len(unrecorded)
    assert sorted(committed()) == [f"lint: {name}:load" for name in NAMES]
    assert set(states(desk).values()) == {"accepted"}


def reverted(desk: Desk) -> None:
    complete_journals(desk.project)
    expected = {name: OLD if state == "reverted" else NEW for name, state in states(desk).items()}
    assert texts(desk) == expected
    revert(desk.newest, root=desk.project)
    assert texts(desk) == dict.fromkeys(NAMES, OLD)


def rejected(desk: Desk) -> None:
    assert set(states(desk).values()) <= {"rejected", "pending"}
    reject(desk.newest, root=desk.project, every=True)
    assert set(states(desk).values()) == {"rejected"}
    assert texts(desk) == dict.fromkeys(NAMES, OLD)


def retried(desk: Desk) -> None:
    """What was begun can be gone on with, else it is as if nothing was said."""
    desk.resume()
    attempts = {job.node_id: job.attempt for job in desk.view(desk.newest).jobs}
    assert attempts[f"node:{NODE}"] in (1, 2)
    assert all(job.status == "verified" for job in desk.view(desk.newest).jobs)
    accept(desk.newest, root=desk.project, every=True)
    assert texts(desk) == dict.fromkeys(NAMES, NEW)


CHECKS: dict[str, Callable[[Desk], None]] = {
    "accept": accepts,
    "branch": branch,
    "revert": reverted,
    "reject": rejected,
    "retry": retried,
}


def killed(kept: Kept, what: str, number: int) -> None:
    status, said = run(kept.again(), what, 10**9)
    assert status == 0
    steps = int(said[-1])
    seed = random.SystemRandom().randrange(10**6)
    for step in random.Random(seed).sample(range(2, steps), min(number, steps - 2)):
        desk = kept.again()
        assert run(desk, what, step)[0] == -9, f"step {step} of {steps}"
        CHECKS[what](desk)
        assert desk.problems() == [], f"step {step} of {steps}"
        assert [path.name for path in desk.root.rglob("*.remora-*")] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [1, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("what", CHECKS)
def test_killed_at_some_moments(what: str, number: int, kept: Kept, accepted: Kept) -> None:
    killed(accepted if what == "revert" else kept, what, number)


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["accept", "branch", "reject", "analyze"])
def test_two_commands_at_once(beside: str, kept: Kept) -> None:
    """The second waits for nobody: it does its part, or says who is in its way."""
    desk = kept.again()
    both = [start(desk, what, 10**9) for what in ("accept", beside)]
    ended = []
    for process in both:
        process.communicate(timeout=200)
        ended.append(process.returncode)
    assert ended[0] == 0 or ended[1] == 0
    complete_journals(desk.project)
    in_files = {name for name, text in texts(desk).items() if text == NEW}
    assert set(texts(desk).values()) <= {OLD, NEW}
    told = {
        job.node_id.removeprefix("node:").partition(":")[0]
        for job in desk.view(kept.newest).jobs
        if job.review.state == "accepted" and not job.review.branch
    }
    assert in_files == told
    assert desk.problems() == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_two_accepts_of_different_runs_at_once(number: int, kept: Kept) -> None:
    """Both propose the same: what one of them wrote is written once, and both records say so."""
    desk = kept.again()
    runs = [desk.newest, desk.analyze()]
    both = [start(desk, "accept", 10**9, run_id) for run_id in runs[:: 1 if number % 2 else -1]]
    ended = []
    for process in both:
        process.communicate(timeout=200)
        ended.append(process.returncode)
    assert 0 in ended
    complete_journals(desk.project)
    accepted = set()
    for run_id in runs:
        for job in desk.view(run_id).jobs:
            assert job.review.state in ("accepted", "conflict", "pending")
            if job.review.state == "accepted":
                accepted.add(job.node_id.removeprefix("node:").partition(":")[0])
    assert {name for name, text in texts(desk).items() if text == NEW} == accepted
    assert set(texts(desk).values()) <= {OLD, NEW}
    assert desk.problems() == []
    assert [path.name for path in desk.root.rglob("*.remora-*")] == []
    for run_id in runs:  # whoever was in the other's way can be tried again
        accept(run_id, root=desk.project, every=True)
    assert texts(desk) == dict.fromkeys(NAMES, NEW)
