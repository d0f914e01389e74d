"""Checks that a change only adds tests, and that they pass and detect faults."""

from collections.abc import Mapping, Sequence
from functools import partial

from remora.code.pytest_model.pytest_file import is_test_file, is_unittest_file
from remora.code.pytest_model.test_functions import is_test_name
from remora.errors import HostError
from remora.ids import split_node_key
from remora.judges.lint.new_findings import new_findings
from remora.judges.submission import Submission
from remora.judges.tests.mutation_check import PROOF_S, Proof, prove_together
from remora.judges.tests.surviving_mutants import further_faults
from remora.operations.test.file_tests import tests_by_function
from remora.operations.test.host_model_tests import MAX_TESTS
from remora.operations.test.insert.added_tests import added_tests, extended_tests
from remora.operations.test.insert.new_file import is_new_package, package_of, tolerated_rules
from remora.tools.tree import ToolTree


def test_only_adds(submission: Submission) -> str:
    """Check that the change set only adds tests, or cases of existing ones, to a single test file.

    They may come with imports and with other functions that help them.

    A new file may come with an `__init__.py` without code.
    """
    found = _new_tests(submission)
    if isinstance(found, str):
        return found
    most = MAX_TESTS * len(_functions(submission))
    return "" if len(found) <= most else f"there are {len(found)} new tests (maximum {most})"


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
            extra = [
                finding
                for finding in extra
                if not known or not str(finding["code"]).startswith(known)
            ]
        if extra:
            return f"{path}: new finding {extra[0]['code']} {extra[0]['message']}"
    return ""


def test_passes(submission: Submission) -> str:
    """Check that the new tests pass twice on the unchanged code, in different circumstances."""
    proofs = _proofs(submission)
    if isinstance(proofs, str):
        return proofs
    return next((proof.problem for proof in proofs.values() if proof.problem), "")


def test_kills_mutant(submission: Submission) -> str:
    """Check that the new tests fail for a fault in a function that they mention.

    A function of which they detect no fault is left out, if they detect faults in another one. An
    existing test with further cases has to detect a fault that it did not detect without them.
    """
    proofs, groups = _proofs(submission), _groups(submission)
    if isinstance(proofs, str) or isinstance(groups, str):
        return str(proofs)
    detecting = {test for name, proof in proofs.items() if proof.killed for test in groups[name]}
    for name, proof in proofs.items():
        if proof.problem:
            return proof.problem
        if not detecting.issuperset(groups[name]):
            return f"the test detects none of {proof.tried} faults in {name}"
    return _further_problem(submission, groups)


def _further_problem(submission: Submission, groups: Mapping[str, Sequence[str]]) -> str:
    """Return which existing test detects no fault that it did not detect without further cases."""
    ((path, (before, after)),) = _without_package(submission).items()
    extended = {f"{path}::{name.replace('.', '::')}" for name in extended_tests(before, after)}
    if not extended or before is None or submission.in_tree is None:
        return ""

    def work(place: ToolTree) -> str:
        with place.within(PROOF_S):
            detecting = {
                test
                for node, ids in groups.items()
                for test in extended.intersection(ids)
                if further_faults(place, (submission.path, node), [test], (path, before))
            }
        missing = sorted(extended - detecting)
        return f"the further cases of {missing[0]} detect no further fault" if missing else ""

    try:
        return submission.in_tree(work)
    except HostError as error:
        return error.message


def _functions(submission: Submission) -> list[str]:
    """Return the qualnames of the functions that the tests are about."""
    keys = (submission.node_id,) if submission.nodes is None else submission.nodes
    return [split_node_key(key)[1] for key in keys]


def _new_tests(submission: Submission) -> list[str] | str:
    files = _without_package(submission)
    if len(files) != 1:
        return f"{len(files)} files were changed"
    ((path, (before, after)),) = files.items()
    if not (is_test_file(path) or is_unittest_file(path)) or path == submission.path:
        return f"{path} is not a test file"
    names = added_tests(path, before, after)
    if isinstance(names, str):
        return names
    tests = [*extended_tests(before, after), *filter(is_test_name, names)]
    return [f"{path}::{name.replace('.', '::')}" for name in tests]


def _without_package(submission: Submission) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return the changed files without a new `__init__.py` beside another new one of them."""
    new = (path for path, sides in submission.files.items() if sides[0] is None)
    packages = {package for path in new if (package := package_of(path)) != path}
    return {
        path: sides
        for path, sides in submission.files.items()
        if not (path in packages and is_new_package(path, *sides))
    }


def _groups(submission: Submission) -> dict[str, list[str]] | str:
    """Return the pytest ids of the new tests by the function that they mention, or an error."""
    ids = _new_tests(submission)
    nodes = _functions(submission)
    if isinstance(ids, str):
        return ids
    ((path, (_, after)),) = _without_package(submission).items()
    by_name = {test.partition("::")[2].replace("::", "."): test for test in ids}
    found = tests_by_function(after or b"", [*by_name], nodes, path)
    known = {name for own in found.values() for name in own}
    stray = [name for name in by_name if name not in known]
    if stray:
        return f"{stray[0]} mentions none of the functions"
    return {node: [by_name[name] for name in own] for node, own in found.items()}


def _proofs(submission: Submission) -> dict[str, Proof] | str:
    """Return the proof for the new tests of each function, or an error.

    The tests run only once per submission.
    """
    groups = _groups(submission)
    if isinstance(groups, str):
        return groups
    if submission.in_tree is None:
        return "running the project's code is not permitted"
    key = (_proofs, *(test for ids in groups.values() for test in ids))
    if key not in submission.results:

        def work(place: ToolTree) -> dict[str, Proof]:
            with place.within(PROOF_S):
                return prove_together(place, submission.path, groups)

        try:
            submission.results[key] = submission.in_tree(work)
        except HostError as error:
            return error.message
    proofs: dict[str, Proof] = submission.results[key]
    return proofs
