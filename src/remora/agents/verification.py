"""Verifies a submission with built-in checks and checks defined by the project."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import msgspec

from remora.agents.custom_checks import check_inputs, run_check
from remora.agents.redaction import placeholder_in_files
from remora.operations.checks import broken_code
from remora.operations.submission import Check, Submission
from remora.pym import Script, one_line


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check.

    `detail` is empty if the check passed. `script` contains the script's hash and inputs, for
    replays.
    """

    name: str
    ok: bool
    detail: str = ""
    script: Mapping[str, Any] | None = None

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
        detail = one_line(checks[name](submission))
        return CheckResult(name=name, ok=not detail, detail=detail)
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
