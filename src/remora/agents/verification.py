"""The checks that a submission must pass before a person is asked to look at it."""

import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import msgspec

from remora.agents.custom_checks import asked, wanted
from remora.agents.job import Job
from remora.agents.redaction import written
from remora.code.docstrings.tree import without_docstring_of
from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, Node, find_node, own_lines
from remora.code.syntax.source import parses
from remora.code.testing.adding import added_tests
from remora.errors import HostError
from remora.ids import NodeKey
from remora.pym import Script, one_line
from remora.tools.host.proving.proof import Proof
from remora.tools.host.ruff.new_findings import new_findings

_MOST_TESTS = 2
Findings = Callable[[str], list[dict[str, Any]]]
"""The lint findings of one file (by path) of a tree."""
Prove = Callable[[list[str]], Proof]
"""What tests (pytest's ids) of the node are worth."""


_SILENCING = re.compile(rb"#[ \t]*(?:noqa|(?:ruff|flake8|isort)[ \t]*:)", re.IGNORECASE)
"""Comments by which linters keep findings to themselves."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check and what it found; `detail` is empty where it passed. `script` is what runs a check
    of one's own again."""

    name: str
    ok: bool
    detail: str = ""
    script: Mapping[str, Any] | None = None

    def recorded(self) -> dict[str, Any]:
        """As an event holds it."""
        record: dict[str, Any] = msgspec.to_builtins(self)
        if self.script is None:
            del record["script"]
        return record


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked: the changed files before and after, and how to lint both trees. `target`
    says where the node stands now, as scripts are told it; `prove` runs tests of the node, where
    that may be done."""

    job: Job
    files: Mapping[str, tuple[bytes | None, bytes | None]]
    findings_before: Findings
    findings_after: Findings
    target: Mapping[str, Any] = {}
    prove: Prove | None = None


class Proved:
    """Two checks look at the same proof: it is made at the first question."""

    def __init__(self, prove: Prove) -> None:
        self._prove = prove
        self._known: dict[tuple[str, ...], Proof] = {}

    def __call__(self, ids: list[str]) -> Proof:
        """The proof of these tests. Raises what `prove` raises."""
        if tuple(ids) not in self._known:
            self._known[tuple(ids)] = self._prove(ids)
        return self._known[tuple(ids)]

    def observed(self) -> dict[str, Any]:
        """What the tests were seen to run, if any did and passed."""
        seen = [proof.seen for proof in self._known.values() if proof.seen.tests]
        return msgspec.to_builtins(seen[0]) if seen else {}


def verify(
    names: Iterable[str],
    submission: Submission,
    scripts: Mapping[str, Script] = MappingProxyType({}),
) -> list[Check]:
    """Each named check in order; of files with a placeholder that their base did not hold, only
    that. Raises `KeyError` for a name that is neither in `CHECKS` nor in `scripts`."""
    refusal = written(submission.files.values())
    if refusal is not None:
        return [Check(name="no_placeholders", ok=False, detail=refusal)]
    return [_checked(name, submission, scripts) for name in names]


def _checked(name: str, submission: Submission, scripts: Mapping[str, Script]) -> Check:
    if name in CHECKS:
        detail = one_line(CHECKS[name](submission))
        return Check(name=name, ok=not detail, detail=detail)
    script = scripts[name]
    facts = wanted(
        script,
        submission.files,
        submission.target,
        submission.findings_before,
        submission.findings_after,
    )
    sides = [side for pair in submission.files.values() for side in pair if side is not None]
    contents = {sha256(side).hexdigest(): side for side in sides}
    detail = asked(script, facts, contents.__getitem__)
    record = {"script_sha256": script.sha256, "inputs": facts}
    return Check(name=name, ok=not detail, detail=detail, script=record)


def parse_errors(files: Mapping[str, bytes | None]) -> str:
    """What keeps the first of these Python files from parsing; empty where all do."""
    for path, content in files.items():
        if path.endswith((".py", ".pyi")) and content is not None:
            error = parses(content)
            if error:
                return f"{path}: {error}"
    return ""


def _parses(submission: Submission) -> str:
    return parse_errors({path: after for path, (_, after) in submission.files.items()})


def _fewer_findings(submission: Submission) -> str:
    path, key = submission.job.path, submission.job.node_id
    contents = submission.files.get(path)
    if contents is None:
        return f"{path} was not changed"
    known = _keys(path, contents[0])
    own = [_own(path, key, source, known) for source in contents]
    if own[1] is None:
        return f"{path} has no {submission.job.node_name} any more"
    if _silences(contents[1]) > _silences(contents[0]):
        return f"{path}: a comment silences findings, and mends none"
    before = _count(submission.findings_before(path), own[0] or frozenset())
    after = _count(submission.findings_after(path), own[1])
    return "" if after < before else f"{before} findings on the node before, {after} after"


def _keys(path: str, before: bytes | None) -> frozenset[NodeKey]:
    """The nodes that stood in the file before: a function that a fix makes within its node, as of
    a lambda, belongs to that node."""
    module = parse_module(path, before) if before is not None else None
    return frozenset(n.key for n in module.nodes) if isinstance(module, Module) else frozenset()


def _silences(source: bytes | None) -> int:
    return len(_SILENCING.findall(source or b""))


def _count(findings: list[dict[str, Any]], lines: frozenset[int]) -> int:
    return sum(finding.get("line") in lines for finding in findings)


def _own(
    path: str, key: str, source: bytes | None, known: frozenset[NodeKey]
) -> frozenset[int] | None:
    """The node's own lines, perhaps none; None where the file has no such node."""
    module = parse_module(path, source) if source is not None else None
    if not isinstance(module, Module):
        return None
    node = find_node(module, key)
    return own_lines(module, node.key, known) if node is not None else None


def _no_new_findings(submission: Submission) -> str:
    for path, (before, _) in submission.files.items():
        if path.endswith((".py", ".pyi")):
            known = submission.findings_before(path) if before is not None else []
            extra = new_findings(known, submission.findings_after(path))
            if extra:
                return f"{path}: new finding {extra[0]['code']} {extra[0]['message']}"
    return ""


def _own_lines_only(submission: Submission) -> str:
    """All that does not belong to the node must stand as it stood, in the same order."""
    path, key = submission.job.path, submission.job.node_id
    for changed, (before, after) in submission.files.items():
        if changed != path:
            return f"{changed} is not the target's file"
        known = _keys(path, before)
        kept = _foreign(path, key, after, known)
        if kept is None:
            return f"{path} has no {submission.job.node_name} any more"
        if kept != _foreign(path, key, before, known):
            return f"{path}: lines outside {submission.job.node_name} changed"
    return ""


def _foreign(
    path: str, key: str, source: bytes | None, known: frozenset[NodeKey]
) -> list[bytes] | None:
    """The lines that are not the node's; blank ones only where they lie within another node.

    Where a node ends with the lines that a fix deletes, the blank line before them becomes its
    surroundings', and is no reason to refuse the fix.
    """
    module = parse_module(path, source) if source is not None else None
    if source is None or not isinstance(module, Module):
        return None
    node = find_node(module, key)
    if node is None:
        return None
    own, exact = own_lines(module, node.key, known), _lines_of_others(module, node)
    lines = source.splitlines(keepends=True)
    return [
        line
        for number, line in enumerate(lines, 1)
        if number not in own and (number in exact or line.strip())
    ]


def _lines_of_others(module: Module, node: Node) -> set[int]:
    """Lines of the nodes that do not surround `node`."""
    return {
        line
        for other in module.nodes
        if other.line_start > node.line_start or other.line_end < node.line_end
        for line in range(other.line_start, other.line_end + 1)
    }


def _docstrings_only(submission: Submission) -> str:
    """Syntax trees and comments must be the same, but for the docstring of this node."""
    key = submission.job.node_id
    for path, (before, after) in submission.files.items():
        if path != submission.job.path or before is None or after is None:
            return f"{path}: not the file of {key}"
        kept = without_docstring_of(path, before, key)
        if kept is None or kept != without_docstring_of(path, after, key):
            return f"{path}: more than the docstring of {submission.job.node_name} changed"
    return ""


def _documented(submission: Submission) -> str:
    """The node has a docstring, and none that is outdated."""
    _, after = submission.files.get(submission.job.path, (None, None))
    module = parse_module(submission.job.path, after) if after is not None else None
    node = find_node(module, submission.job.node_id) if isinstance(module, Module) else None
    if node is None or node.docstring is None:
        return f"{submission.job.node_name} has no docstring"
    return "its docstring is outdated" if node.docstring_outdated else ""


def _test_only_adds(submission: Submission) -> str:
    """One test file has one more test, or one and another for what is refused, and what they import;
    nothing else is changed."""
    found = _new_tests(submission)
    if isinstance(found, str):
        return found
    first = re.sub(r"_\d+\Z", "", found[0])
    rest = [name for name in found[1:] if not name.startswith(f"{first}_raises")]
    return "" if len(found) <= _MOST_TESTS and not rest else f"there are {len(found)} new tests"


def _new_tests(submission: Submission) -> list[str] | str:
    """Ids of the tests that were added, or what else was done."""
    if len(submission.files) != 1:
        return f"{len(submission.files)} files were changed"
    ((path, (before, after)),) = submission.files.items()
    if not is_test_file(path) or path == submission.job.path:
        return f"{path} is no test file"
    names = added_tests(path, before, after)
    return names if isinstance(names, str) else [f"{path}::{name}" for name in names]


def _test_passes(submission: Submission) -> str:
    """The new test passes on the code as it is, twice, and in different circumstances."""
    proof = _proof(submission)
    return proof if isinstance(proof, str) else proof.problem


def _test_kills_mutant(submission: Submission) -> str:
    """It fails for at least one fault in the node."""
    proof = _proof(submission)
    if isinstance(proof, str) or proof.killed:
        return proof if isinstance(proof, str) else ""
    return proof.problem or f"it notices none of {proof.tried} faults in {submission.job.node_name}"


def _proof(submission: Submission) -> Proof | str:
    ids = _new_tests(submission)
    if isinstance(ids, str):
        return ids
    if submission.prove is None:
        return "code of the project is not run here"
    try:
        return submission.prove(ids)
    except HostError as error:
        return error.message


CHECKS: Mapping[str, Callable[[Submission], str]] = {
    "parses": _parses,
    "fewer_findings": _fewer_findings,
    "no_new_findings": _no_new_findings,
    "own_lines_only": _own_lines_only,
    "docstrings_only": _docstrings_only,
    "documented": _documented,
    "test_only_adds": _test_only_adds,
    "test_passes": _test_passes,
    "test_kills_mutant": _test_kills_mutant,
}
"""By the name that `agent.yaml` uses. Each says what is wrong, or nothing."""
