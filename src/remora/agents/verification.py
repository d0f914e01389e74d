"""Verifies a submission with built-in checks and checks defined by the project."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import msgspec

from remora.agents.named_summarizers import EPOCH
from remora.agents.redaction import placeholder_in_files
from remora.judges.checks import broken_code
from remora.judges.submission import Check, Files, Findings, Note, Submission
from remora.pym import Limits, Script, one_line
from remora.text import escape_surrogates


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check."""

    name: str
    ok: bool
    detail: str = ""
    """The problem, or the note of a check that passed."""
    script: Mapping[str, Any] | None = None
    """The script's hash and inputs, for replays."""

    def recorded(self) -> dict[str, Any]:
        record: dict[str, Any] = msgspec.to_builtins(self)
        if self.script is None:
            del record["script"]
        return record


def verify(
    names: Iterable[str],
    submission: Submission,
    checks: Mapping[str, Check],
    scripts: Mapping[str, Script] = MappingProxyType({}),
) -> list[CheckResult]:
    """Run the named checks in order, and return their results.

    If a changed file contains a placeholder for a secret that was not in its base, does not compile
    any more, or has new undefined or redefined names, no check is run and only this problem is
    reported. Raises `KeyError` if a name is neither in `checks` nor in
    `scripts`.
    """
    refusal = placeholder_in_files(submission.files.values())
    if refusal is not None:
        return [CheckResult(name="no_placeholders", ok=False, detail=refusal)]
    name, problem = broken_code(submission)
    if problem:
        return [CheckResult(name=name, ok=False, detail=one_line(problem))]
    return [_run_check(name, submission, checks, scripts) for name in names]


def _run_check(
    name: str,
    submission: Submission,
    checks: Mapping[str, Check],
    scripts: Mapping[str, Script],
) -> CheckResult:
    if name in checks:
        found = checks[name](submission)
        ok = not found or isinstance(found, Note)
        return CheckResult(name=name, ok=ok, detail=one_line(found))
    script = scripts[name]
    facts = check_inputs(
        script,
        submission.files,
        submission.target,
        submission.findings_before,
        submission.findings_after,
    )
    sides = [side for pair in submission.files.values() for side in pair if side is not None]
    contents = {sha256(side).hexdigest(): side for side in sides}
    detail = run_check(script, facts, contents.__getitem__)
    record = {"script_sha256": script.sha256, "inputs": facts}
    return CheckResult(name=name, ok=not detail, detail=detail, script=record)


Contents = Callable[[str], bytes]
"""Return a file's bytes by their SHA-256."""


def check_inputs(
    script: Script, files: Files, target: Mapping[str, Any], before: Findings, after: Findings
) -> dict[str, Any]:
    """Return the inputs that the script declares, in the form in which they are recorded.

    Available inputs are `files`, `target`, `findings_before` and `findings_after`. File contents
    are recorded as SHA-256 hashes.
    """
    facts: Mapping[str, Callable[[], Any]] = {
        "files": lambda: [
            {"path": path, "before": _hash(old), "after": _hash(new)}
            for path, (old, new) in sorted(files.items())
        ],
        "target": lambda: dict(target),
        "findings_before": lambda: list(_findings(files, before)),
        "findings_after": lambda: list(_findings(files, after)),
    }
    declared = {spec.name for spec in script.inputs}
    return {name: make() for name, make in facts.items() if name in declared}


def run_check(script: Script, facts: Mapping[str, Any], content: Contents) -> str:
    """Run a check script on recorded `facts`. Return the problem, or an empty string if it passes.

    The check passes only if the script returns true. An error, an exceeded limit or any other
    return value is a failure. The script has no host functions. Raises whatever `content` raises if
    a file is missing.
    """
    given = dict(facts)
    try:
        if "files" in given:
            given["files"] = [_texts(file, content) for file in given["files"]]
    except UnicodeDecodeError:
        return f"{script.label}: a file is not UTF-8 text"
    run = script.run(given, {}, limits=Limits(), clock=EPOCH, seed=0)
    if run.error is not None:
        return run.error.message
    if run.value is True:
        return ""
    if isinstance(run.value, str) and run.value.strip():
        return escape_surrogates(one_line(run.value))
    got = escape_surrogates(one_line(repr(run.value)))
    return f"{script.label}: returned {got}; expected true, or a text that describes the fault"


def _hash(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def _texts(file: Mapping[str, Any], content: Contents) -> dict[str, str | None]:
    sides = {side: file[side] for side in ("before", "after")}
    texts = {
        side: None if digest is None else content(digest).decode("utf-8-sig")
        for side, digest in sides.items()
    }
    return {"path": file["path"], **texts}


def _findings(files: Files, lint: Findings) -> Iterator[dict[str, Any]]:
    """Yield the findings in changed Python files. Other files have the same findings as before."""
    for path in sorted(files):
        if path.endswith((".py", ".pyi")):
            yield from ({**finding, "path": path} for finding in lint(path))
