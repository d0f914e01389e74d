"""What is in the way of a change: the accepted ones of its run, or only the user's edit."""

import pytest
from msgspec.structs import replace

from remora.memory.events import Change
from remora.runs.records.job_view import JobView, Proposal, ReviewState
from remora.runs.review.conflicts import conflicting_jobs
from remora.usecases.review.verdicts import accept
from tests.runs.conftest import RULES, UNUSED, Desk, Kept, analyzed

BASE = b"one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return analyzed(tmp_path_factory.mktemp("shop"), {"a.py": UNUSED, "ruff.toml": RULES})


@pytest.mark.slow
def test_an_edit_of_the_users_is_not_a_collision(shop: Desk) -> None:
    run_id = shop.newest
    shop.write({"a.py": UNUSED.replace("import re", "import re as r")})
    accept(run_id, root=shop.project, every=True)
    job = shop.job(run_id, "load")
    assert job.review.state == "conflict"
    assert conflicting_jobs(shop.project, shop.view(run_id), job) == []


def job_that_makes(shop: Desk, name: str, path: str, after: bytes | None) -> JobView:
    """A verified job whose change set makes `after` of the base."""
    put = shop.project.trace.objects.put
    change = Change(
        path=path, before=put(BASE), after=None if after is None else put(after), mode=0o644
    )
    return JobView(
        agent_id=f"lint-{name}",
        operation="lint",
        node_id=f"node:{path}:{name}",
        status="verified",
        proposal=Proposal(changes=(change,)),
    )


@pytest.mark.parametrize(
    ("path", "after", "collides"),
    [
        ("a.py", BASE.replace(b"two", b"zwei"), True),
        ("a.py", BASE.replace(b"two", b"deux"), False),  # the same change twice is one
        ("a.py", BASE.replace(b"five", b"cinq"), False),
        ("a.py", None, True),
        ("b.py", BASE.replace(b"two", b"zwei"), False),
    ],
)
def test_an_accepted_change_of_the_same_lines_is_in_the_way(
    shop: Desk, path: str, after: bytes | None, collides: bool
) -> None:
    view = shop.view(shop.newest)
    ours = job_that_makes(shop, "ours", "a.py", BASE.replace(b"two", b"deux"))
    other = job_that_makes(shop, "other", path, after)
    for verdict, found in (("accepted", [other.node_id]), ("rejected", []), ("conflict", [])):
        both = replace(view, jobs=(ours, replace(other, review=ReviewState(state=verdict))))
        others = [job.node_id for job in conflicting_jobs(shop.project, both, ours)]
        assert others == (found if collides else [])


def test_the_users_edit_of_another_line_than_an_accepted_change_is_the_cause(shop: Desk) -> None:
    """Both are in the same file, but only one of them is where the change conflicts."""
    view = shop.view(shop.newest)
    ours = BASE.replace(b"two", b"deux").replace(b"five", b"cinq")
    pending = job_that_makes(shop, "ours", "a.py", ours)
    other = job_that_makes(shop, "other", "a.py", BASE.replace(b"two", b"zwei"))
    both = replace(view, jobs=(pending, replace(other, review=ReviewState(state="accepted"))))
    for line, found in ((b"five", []), (b"two", [other.node_id])):
        shop.write({"a.py": BASE.replace(line, b"mine").decode()})
        others = [job.node_id for job in conflicting_jobs(shop.project, both, pending)]
        assert others == found
