"""What is in the way of a change set: the accepted ones of its run, or only the user's edit."""

import pytest
from msgspec.structs import replace

from remora.memory.events import Change
from remora.runs.collisions import collides_with
from remora.runs.results import JobView
from remora.runs.review import accept
from tests.runs.conftest import RULES, UNUSED, Desk

BASE = b"one\ntwo\nthree\nfour\nfive\n"


def test_an_edit_of_the_users_is_no_collision(desk: Desk) -> None:
    desk.write({"a.py": UNUSED, "ruff.toml": RULES})
    run_id = desk.analyze()
    desk.write({"a.py": UNUSED.replace("import re", "import re as r")})
    accept(desk.project, run_id, [], every=True)
    job = desk.job(run_id, "load")
    assert job.review == "conflict"
    assert collides_with(desk.project, desk.view(run_id), job) == []


def job_that_makes(desk: Desk, name: str, path: str, after: bytes | None) -> JobView:
    """A verified job whose change set makes `after` of the base."""
    put = desk.project.trace.objects.put
    change = Change(
        path=path, before=put(BASE), after=None if after is None else put(after), mode=0o644
    )
    return JobView(
        agent_id=f"lint-{name}",
        operation="lint",
        node_id=f"node:{path}:{name}",
        status="submitted",
        change_set=(change,),
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
    desk: Desk, path: str, after: bytes | None, collides: bool
) -> None:
    desk.write({"a.py": UNUSED, "ruff.toml": RULES})
    view = desk.view(desk.analyze())
    ours = job_that_makes(desk, "ours", "a.py", BASE.replace(b"two", b"deux"))
    other = job_that_makes(desk, "other", path, after)
    for verdict, found in (("accepted", [other.node_id]), ("rejected", []), ("conflict", [])):
        both = replace(view, jobs=(ours, replace(other, review=verdict)))
        assert collides_with(desk.project, both, ours) == (found if collides else [])
