"""Checks that a change set adds one test, and that the test passes and detects faults."""

import re
from functools import partial

import msgspec

from remora.code.pytest_model.pytest_file import is_test_file
from remora.errors import HostError
from remora.operations.submission import Submission
from remora.operations.test.insert.added_tests import added_tests
from remora.operations.test.insert.tolerated_findings import tolerated_rules
from remora.operations.test.runner.mutation_check import PROOF_S, Proof, prove
from remora.tools.host.ruff.new_findings import new_findings
from remora.tools.tree import ToolTree

_MAX_TESTS = 4


def test_only_adds(submission: Submission) -> str:
    """Check that the change set only adds a test, with its imports, to a single test file.

    It may also add tests of other arguments and of exceptions, whose names begin like the first.
    """
    found = _new_tests(submission)
    if isinstance(found, str):
        return found
    first = re.sub(r"(_with(out)?_\w+|_\d+)\Z", "", found[0])
    related = re.compile(rf"{re.escape(first)}(_(with|without|raises)_\w+|_raises|_\d+)?")
    rest = [name for name in found if not related.fullmatch(name)]
    return "" if len(found) <= _MAX_TESTS and not rest else f"there are {len(found)} new tests"


def test_findings(submission: Submission) -> str:
    """Check that the new test adds no lint findings, but for rules that other tests do not follow."""
    for path, (before, _) in submission.files.items():
        found = submission.findings_before(path) if before is not None else []
        extra = new_findings(found, submission.findings_after(path))
        if extra and submission.in_tree is not None:
            try:
                known = submission.in_tree(partial(tolerated_rules, path=path, found=found))
            except HostError as error:
                return error.message
            extra = [each for each in extra if not known or not str(each["code"]).startswith(known)]
        if extra:
            return f"{path}: new finding {extra[0]['code']} {extra[0]['message']}"
    return ""


def test_passes(submission: Submission) -> str:
    """Check that the new test passes twice on the unchanged code, in different circumstances."""
    proof = _proof(submission)
    return proof if isinstance(proof, str) else proof.problem


def test_kills_mutant(submission: Submission) -> str:
    """Check that the new test fails for at least one fault in the node."""
    proof = _proof(submission)
    if isinstance(proof, str) or proof.killed:
        return proof if isinstance(proof, str) else ""
    return (
        proof.problem or f"the test detects none of {proof.tried} faults in {submission.node_name}"
    )


def _new_tests(submission: Submission) -> list[str] | str:
    if len(submission.files) != 1:
        return f"{len(submission.files)} files were changed"
    ((path, (before, after)),) = submission.files.items()
    if not is_test_file(path) or path == submission.path:
        return f"{path} is not a test file"
    names = added_tests(path, before, after)
    if isinstance(names, str):
        return names
    return [f"{path}::{name.replace('.', '::')}" for name in names]


def _proof(submission: Submission) -> Proof | str:
    """Return the proof for the new tests, or an error. The tests run only once per submission."""
    ids = _new_tests(submission)
    if isinstance(ids, str):
        return ids
    if submission.in_tree is None:
        return "running the project's code is not permitted"
    key = (_proof, *ids)
    if key not in submission.results:

        def work(place: ToolTree) -> Proof:
            with place.within(PROOF_S):
                return prove(place, submission.path, submission.qualname, ids, enough=1)

        try:
            submission.results[key] = submission.in_tree(work)
        except HostError as error:
            return error.message
    proof: Proof = submission.results[key]
    if proof.seen.tests:
        submission.observed.update(msgspec.to_builtins(proof.seen))
    return proof
