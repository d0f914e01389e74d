"""Whatever a model server answers, a run ends, is recorded, and leaves the user's files alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.conftest import Done, Remora, git, tree, write
from tests.misbehaving_server import FAULTS
from tests.openai_server import openai_server

CART = '''\
class Cart:
    """A cart."""

    def add(self, item, count=1):
        self.items += [item] * count
'''
QUICK = {
    "REMORA_MODEL__TIMEOUT_S": "0.5",
    "REMORA_MODEL__RETRIES": "1",
    "REMORA_MODEL__SAMPLES": "2",
}


class End(NamedTuple):
    """How a run with a fault ends: exit code, status of its job, and a part of its message."""

    code: int
    status: str
    message: str = ""


UNREACHABLE = "cannot reach the model server at "
REFUSED = "no answer passed the checks: "
ENDS = {
    "slow": End(3, "error", "did not respond within 0.5 s; raise model.timeout_s"),
    "stops in the middle": End(3, "error", UNREACHABLE),
    "prose": End(0, "no_change", REFUSED + "the answer has no tool call"),
    "half a call": End(0, "no_change", REFUSED + "the answer ends inside a tool call: describe"),
    "two calls": End(0, "submitted"),
    "an unknown tool": End(0, "no_change", REFUSED + "unknown tool 'delete_files'"),
    "another tool's arguments": End(0, "no_change", REFUSED + "describe: the argument 'part'"),
    "wrong types": End(0, "no_change", REFUSED + "describe: text must be of type string"),
    "1 MB": End(0, "no_change", REFUSED + "A description is one sentence of at most 240"),
    "nothing": End(3, "error", "sent an unusable response: not JSON; check that model.base_url"),
    "busy once": End(0, "submitted"),
    "busy": End(3, "error", "returned status 429: too many requests; the server limits"),
    "fails": End(3, "error", "returned status 500: out of memory; check the server's log"),
    "resets": End(3, "error", UNREACHABLE),
    "dies": End(1, "error", UNREACHABLE),
    "wrong key": End(3, "error", "returned status 401: invalid key; no key was sent"),
    "replaced": End(1, "error", "answers with the model 'other', and answered with 'm' before"),
    "truncates": End(1, "error", "its context is smaller than it reports"),
}
FAST = ("prose", "nothing", "dies", "replaced", "truncates")


@pytest.fixture
def cart(tmp_path: Path) -> Path:
    root = write(tmp_path / "cart", {"cart.py": CART})
    git(root, "init", "-q")
    return root


def analyze(user: Remora, root: Path, fault: str, *args: str) -> Done:
    quick = replace(user, environ=QUICK)
    with openai_server(FAULTS[fault]) as server:
        done = quick(
            "analyze", "-o", "docstring", "--model", server.address, "--json", *args, cwd=root
        )
    assert server.requests, done.err
    return done


def job_of(done: Done) -> dict[str, Any]:
    (job,) = done.document["jobs"]
    return dict(job)


def test_every_fault_has_an_end() -> None:
    assert set(ENDS) == set(FAULTS)


@pytest.mark.parametrize(
    "fault",
    [each if each in FAST else pytest.param(each, marks=pytest.mark.slow) for each in FAULTS],
)
def test_a_run_with_a_faulty_server_is_recorded(poor: Remora, cart: Path, fault: str) -> None:
    before = tree(cart)
    done = analyze(poor, cart, fault)
    job, end = job_of(done), ENDS[fault]
    assert (done.code, job["status"]) == (end.code, end.status), done.err
    assert end.message in (job["error"] or "")
    assert "Traceback" not in done.err
    assert tree(cart) == before
    verified = poor("trace", "verify", "--all", cwd=cart)
    assert verified.code == 0, verified.out


def test_the_trace_shows_what_was_answered_and_kept(poor: Remora, cart: Path) -> None:
    analyze(poor, cart, "replaced")
    shown = poor("trace", "show", "cart.py:Cart.add", cwd=cart).out
    assert 'model_response  describe(part="summary", text="Keep what a visitor picked")' in shown
    analyze(poor, cart, "1 MB")
    shown = poor("trace", "show", "cart.py:Cart.add", cwd=cart).out
    assert "context_update  trials: 1 tried, 0 kept" in shown
