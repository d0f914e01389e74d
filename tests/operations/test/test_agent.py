"""The built-in test agent: what it writes, what it leaves alone, who decides, what is refused."""

from typing import Any, cast

import pytest

from remora.agents.definition.agent import Agent, load_agent
from remora.agents.verification import CheckResult, verify
from remora.bootstrap.operations import BUILT_IN
from remora.judges.submission import Submission
from remora.judges.tests.mutation_check import Proof
from remora.memory.events import SubmitResult, ToolCalled, ToolResulted
from remora.operations.test.operation import TEST
from remora.sandbox.interpreters import ProjectPython
from tests.agents.conftest import Play, Played, Theatre, a_job, of_job

SIZES = '''\
def parse_size(text):
    """The number of bytes.

    >>> parse_size("10k")
    10240
    """
    if not text:
        raise ValueError("empty")
    if text.endswith("k"):
        return int(text[:-1]) * 1024
    return len(text)


def escape(text: str) -> str:
    return text.replace("%", "%25").replace("/", "%2F")


def unescape(text: str) -> str:
    return text.replace("%2F", "/").replace("%25", "%")


def noise(a):
    import random

    return random.random() + a
'''


WRITES = [("write_tests", "rule"), ("submit_result", "rule")]


@pytest.fixture(scope="module")
def agent() -> Agent:
    return load_agent(TEST.folder, BUILT_IN, builtin=True)


def a_play(agent: Agent, node: str, **more: Any) -> Play:
    return Play(agent=agent, source=SIZES, node=node, decisions="rules", **more)


def tools(played: Played) -> list[tuple[str, str]]:
    return [(call.tool, call.decided_by) for call in played.payloads(ToolCalled)]


def checks(played: Played) -> list[tuple[str, bool]]:
    (submitted,) = played.payloads(SubmitResult)
    return [(check["name"], check["ok"]) for check in submitted.checks]


@pytest.mark.timeout(180)
def test_one_test_is_written_and_proved(
    theatre: Theatre, agent: Agent, plain_python: ProjectPython
) -> None:
    played = theatre.play(a_play(agent, "parse_size", python=plain_python))
    assert tools(played) == WRITES
    assert checks(played) == [
        ("parses", True), ("test_only_adds", True), ("test_findings", True),
        ("test_passes", True), ("test_kills_mutant", True),
    ]  # fmt: skip
    assert played.payloads(ToolResulted)[0].outcome == "success"
    (change,) = played.result.change_set
    assert (change.path, change.before) == ("tests/test_mod.py", None)
    written = played.folder.objects.get(str(change.after)).decode()
    assert 'assert parse_size("10k") == 10240' in written


def test_unstable_results_are_left_alone(
    theatre: Theatre, agent: Agent, plain_python: ProjectPython
) -> None:
    played = theatre.play(a_play(agent, "noise", python=plain_python))
    assert tools(played) == WRITES
    assert played.result.status == "no_change"


def test_without_an_interpreter_it_ends_without_a_change(theatre: Theatre, agent: Agent) -> None:
    played = theatre.play(a_play(agent, "parse_size"))
    assert played.result.status in {"no_change", "failed"}
    assert played.result.change_set == ()


ADDED = b"from mod import f\n\n\ndef test_f():\n    assert f() == 1\n"


def said(name: str, path: str, after: bytes, proof: Proof | None, more: str = "") -> str:
    files: dict[str, tuple[bytes | None, bytes | None]] = {path: (None, after)}
    if more:
        files[more] = (None, b"" if "__init__" in more else b"X = 1\n")
    submission = Submission(
        **of_job(a_job("f", "test")),
        files=files,
        findings_before=lambda _: [],
        findings_after=lambda _: [],
        in_tree=cast(Any, None if proof is None else lambda _work: {"f": proof}),
    )
    (check,) = verify([name], submission, BUILT_IN.checks)
    assert isinstance(check, CheckResult)
    return check.detail


class TestChecks:
    def test_nothing_but_one_test_in_a_test_file(self) -> None:
        assert said("test_only_adds", "tests/test_mod.py", ADDED, None) == ""
        assert said("test_only_adds", "mod.py", ADDED, None) == "mod.py is not a test file"
        assert said("test_only_adds", "test_mod.py", ADDED, None, "mod.py").startswith("2 files")
        assert said("test_only_adds", "tests/test_mod.py", ADDED, None, "tests/__init__.py") == ""
        assert said("test_only_adds", "tests/test_mod.py", ADDED, None, "mod/__init__.py") != ""
        two = ADDED + b"\n\ndef test_g():\n    assert f()\n"
        assert said("test_only_adds", "test_mod.py", two, None) == ""
        helper = ADDED + b"\n\ndef helper():\n    return f()\n"
        assert said("test_only_adds", "test_mod.py", helper, None) == ""
        many = ADDED + b"".join(b"\n\ndef test_%d():\n    assert f()\n" % n for n in range(5))
        assert said("test_only_adds", "test_mod.py", many, None).startswith("there are 6 new tests")

    def test_it_must_pass_and_notice_a_fault(self) -> None:
        good = Proof(killed=("it returns None",), tried=2)
        for name in ("test_passes", "test_kills_mutant"):
            assert said(name, "test_mod.py", ADDED, good) == ""
            assert said(name, "test_mod.py", ADDED, Proof(problem="it fails")) == "it fails"
            assert "is not permitted" in said(name, "test_mod.py", ADDED, None)
        blind = Proof(tried=1)
        assert said("test_kills_mutant", "test_mod.py", ADDED, blind) == (
            "the test detects none of 1 faults in f"
        )

    @pytest.mark.parametrize(
        ("tests", "problem"),
        [
            ("def test_f(): assert f(g)", ""),
            (
                "def test_f(): assert f()\ndef test_g(): assert g()",
                "the test detects none of 1 faults in g",
            ),
        ],
    )
    def test_a_function_that_the_tests_of_another_one_use_is_left_out(
        self, tests: str, problem: str
    ) -> None:
        blind, good = Proof(tried=1), Proof(killed=("it returns None",))
        submission = Submission(
            **{**of_job(a_job("f", "test")), "nodes": ("node:mod.py:f", "node:mod.py:g")},
            files={"test_mod.py": (None, f"from mod import f, g\n{tests}\n".encode())},
            findings_before=lambda _: [],
            findings_after=lambda _: [],
            in_tree=cast(Any, lambda _work: {"f": good, "g": blind}),
        )
        (check,) = verify(["test_kills_mutant"], submission, BUILT_IN.checks)
        assert check.detail == problem
