"""Implements `sweep verify`."""

import shlex
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import click

from remora.bootstrap.invocation import Invocation
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import print_json
from remora.cli.sweep.show_sweep import refuse_root
from remora.cli.views.verification_view import signature_line
from remora.config.repository_list import ListedRepository, read_repository_list
from remora.errors import RemoraError
from remora.text import count, escape_line
from remora.trace.read.reader import DAMAGED
from remora.trace.verify.folder_check import verify_all
from remora.trace.verify.head_hmac import Signer
from remora.trace.verify.verify_report import StreamReport, VerifyReport
from remora.usecases.sweep.sweep_records import SweptProject, open_repository
from remora.usecases.sweep.sweep_summary import MISSING, UNREADABLE

_OK = "ok"
_COLORS = {_OK: "green", MISSING: "yellow", DAMAGED: "red", UNREADABLE: "red"}
_NAMED = 3
"""Maximum number of damaged streams named in a line."""


class _Verified(NamedTuple):
    """A repository whose records were verified. `document` is its part of the JSON output."""

    root: Path
    word: str
    line: str
    document: dict[str, Any]


def verify_sweep(options: Options, file: Path, signer: Signer | None) -> int:
    """Verify the records of all listed repositories, and print a line for each.

    Returns 1 if records are damaged or cannot be opened.
    """
    refuse_root(options)
    invocation = invocation_of(options)
    words, failed, documents = Counter[str](), [], []
    for repository in read_repository_list(file):
        one = _verify(invocation, repository, signer)
        words[one.word] += 1
        if one.word in {DAMAGED, UNREADABLE}:
            failed.append(one.root)
        if options.json:
            documents.append(one.document)
        else:
            click.echo(click.style(f"{one.word:10}", fg=_COLORS[one.word]) + f"  {one.line}")
    if options.json:
        print_json({"repositories": documents})
    else:
        click.echo(", ".join(f"{number:,} {word}" for word, number in words.items()))
        if failed:
            command = shlex.join(["remora", "trace", "verify", "--root", str(failed[0])])
            click.echo(f"`{command}` shows the problems of one repository")
    return 1 if failed else 0


def _verify(
    invocation: Invocation, repository: ListedRepository, signer: Signer | None
) -> _Verified:
    opened = open_repository(invocation, repository)
    if opened.error is not None:
        return _unopened(opened, opened.error)
    if opened.project is None:
        line = escape_line(f"{opened.name}: {opened.root} does not exist")
        document = {"name": opened.name, "ok": True, "missing": True, "streams": []}
        return _Verified(opened.root, MISSING, line, document)
    try:
        report = verify_all(opened.project.trace, signer=signer)
    except RemoraError as error:
        return _unopened(opened, error)
    line = escape_line(f"{opened.name}: {_details(report)}")
    document = {"name": opened.name, **report.as_json()}
    return _Verified(opened.root, _OK if report.ok else DAMAGED, line, document)


def _unopened(opened: SweptProject, error: RemoraError) -> _Verified:
    line = escape_line(f"{opened.name}: {error.message}")
    document = {"name": opened.name, "ok": False, "error": error.message, "streams": []}
    return _Verified(opened.root, UNREADABLE, line, document)


def _details(report: VerifyReport) -> str:
    """Return what was found, such as `12 streams, damaged: agent lint-3f2a (line 4: chain)`."""
    text = count(len(report.streams), "stream")
    damaged = [stream for stream in report.streams if not stream.ok]
    if damaged:
        more = f" and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
        text += f", damaged: {', '.join(map(_problem, damaged[:_NAMED]))}{more}"
    if report.signatures is not None:
        text += f"; {signature_line(report.signatures)}"
    return text


def _problem(stream: StreamReport) -> str:
    first = stream.problems[0]
    kind = "run" if stream.of_run else "agent"
    return f"{kind} {stream.name} (line {first.line}: {first.kind})"
