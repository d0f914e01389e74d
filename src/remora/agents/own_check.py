"""Checks of a submission that a project writes itself, as `.pym` scripts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from remora.agents.summarize import EPOCH
from remora.memory.canonical import escape_surrogates
from remora.pym import Limits, Script, one_line

Files = Mapping[str, tuple[bytes | None, bytes | None]]
Findings = Callable[[str], list[dict[str, Any]]]


def asked(
    script: Script, files: Files, target: Mapping[str, Any], before: Findings, after: Findings
) -> str:
    """What the script says is wrong; empty where it says true.

    It is given those of `files`, `target`, `findings_before` and `findings_after` that it
    declares, and no host function. Whatever else it comes to is no pass: an error, a limit, any
    other value.
    """
    facts: Mapping[str, Callable[[], Any]] = {
        "files": lambda: [_texts(path, *contents) for path, contents in sorted(files.items())],
        "target": lambda: dict(target),
        "findings_before": lambda: list(_findings(files, before)),
        "findings_after": lambda: list(_findings(files, after)),
    }
    wanted = {spec.name for spec in script.inputs}
    try:
        given = {name: make() for name, make in facts.items() if name in wanted}
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
    return f"{script.label}: gave {got}, neither true nor a text that says what is wrong"


def _texts(path: str, before: bytes | None, after: bytes | None) -> dict[str, str | None]:
    return {"path": path, "before": _text(before), "after": _text(after)}


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8-sig")


def _findings(files: Files, lint: Findings) -> Iterator[dict[str, Any]]:
    """Of the changed Python files: a file that was not changed has the same ones as before."""
    for path in sorted(files):
        if path.endswith((".py", ".pyi")):
            yield from ({**finding, "path": path} for finding in lint(path))
