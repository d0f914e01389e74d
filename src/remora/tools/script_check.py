"""Checks of script files: errors, externals that are unknown or not granted, empty summaries."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from remora.pym import Script, ScriptChecks
from remora.python_text import parse

_FILLING = (
    "a and been call called complete completed done executed finished for has in is it of ok on ran "
    "run successful successfully succeeded success the to tool was were with"
)
"""Words that say nothing about what a tool found or changed (decision)."""
REPEATED_NAME = "the summary only repeats the tool's name; say what it found or changed"


def repeats_name(summary: str, name: str) -> bool:
    """Return True if a summary says no more than the tool's name, such as `Executed read_file`."""
    words = _words(summary)
    return bool(words) and words <= _words(f"{_FILLING} {name}")


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


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
    found = [error.message for error in errors]
    if script:
        found += _denied(script, known, known if grants is None else {*grants})
    return ScriptCheck(
        path=str(path),
        ok=not found,
        errors=found,
        warnings=[*_empty_summaries(script)] if script else [],
    )


def _denied(script: Script, known: set[str], granted: set[str]) -> list[str]:
    found: list[str] = []
    for spec in script.externals:
        if spec.name not in known:
            found.append(f"{script.label}:{spec.line}: there is no host function `{spec.name}`")
        elif spec.name not in granted:
            found.append(f"{script.label}:{spec.line}: `{spec.name}` is not granted")
    return found


def _empty_summaries(script: Script) -> Iterator[str]:
    """Yield a warning for each literal summary that only repeats the file's name, or inputs."""
    inputs = {spec.name for spec in script.inputs}
    for mapping in ast.walk(parse(script.raw)):
        if not isinstance(mapping, ast.Dict):
            continue
        for key, value in zip(mapping.keys, mapping.values, strict=True):
            is_summary = isinstance(key, ast.Constant) and key.value in ("summary", "_summary")
            text = _said(value, inputs) if is_summary else ""
            if repeats_name(text, script.name):
                yield f"{script.label}:{value.lineno}: {REPEATED_NAME}"


def _said(value: ast.expr, inputs: Collection[str]) -> str:
    """Return the fixed words of a summary, or nothing if it contains more than inputs."""
    words = []
    for part in value.values if isinstance(value, ast.JoinedStr) else [value]:
        shown = part.value if isinstance(part, ast.FormattedValue) else part
        if not isinstance(shown, ast.Constant):
            if isinstance(shown, ast.Name) and shown.id in inputs:
                continue
            return ""
        words.append(str(shown.value))
    return "".join(words)
