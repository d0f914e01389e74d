"""Checks of script files for errors, and for externals that are unknown or not granted."""

from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from remora.pym import Script, ScriptChecks


class ScriptCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of checking a script file. Each error and warning begins with `FILE.pym:LINE: `."""

    path: str
    ok: bool
    errors: list[str]
    warnings: list[str]


def check_script(
    path: Path,
    checks: ScriptChecks,
    offered: Collection[str],
    *,
    grants: Iterable[str] | None,
) -> ScriptCheck:
    """Check a script. Raises NotFound if the file does not exist.

    `offered` contains the names of all known externals. If `grants` is None, all known externals
    count as granted.
    """
    script, errors = checks.examine(path)
    known = {*offered}
    warnings = _warnings(script, known, known if grants is None else {*grants}) if script else []
    return ScriptCheck(
        path=str(path),
        ok=script is not None,
        errors=[error.message for error in errors],
        warnings=warnings,
    )


def _warnings(script: Script, known: set[str], granted: set[str]) -> list[str]:
    found: list[str] = []
    for spec in script.externals:
        if spec.name not in known:
            found.append(f"{script.label}:{spec.line}: there is no host function `{spec.name}`")
        elif spec.name not in granted:
            found.append(f"{script.label}:{spec.line}: `{spec.name}` is not granted")
    return found
