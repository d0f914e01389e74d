"""Implements `sweep verify`."""

from pathlib import Path
from typing import Any

import click

from remora.bootstrap.invocation import Invocation
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import print_json
from remora.cli.sweep.show_sweep import refuse_root
from remora.config.repository_list import ListedRepository, read_repository_list
from remora.errors import RemoraError
from remora.statuses import DAMAGED
from remora.text import count, escape_line
from remora.trace.verify.folder_check import verify_all
from remora.trace.verify.head_hmac import Signer
from remora.usecases.sweep.sweep_records import open_repository
from remora.usecases.sweep.sweep_summary import MISSING, UNREADABLE

_OK = "ok"
_COLORS = {_OK: "green", MISSING: "yellow", DAMAGED: "red", UNREADABLE: "red"}


def verify_sweep(options: Options, file: Path, signer: Signer | None) -> int:
    """Verify the records of all listed repositories, and print a line for each.

    Returns 1 if records are damaged or cannot be opened.
    """
    refuse_root(options)
    invocation = invocation_of(options)
    documents = []
    for repository in read_repository_list(file):
        word, details, document = _verify(invocation, repository, signer)
        documents.append({"name": repository.name, **document})
        if not options.json:
            line = escape_line(f"{repository.name}: {details}")
            click.echo(f"{click.style(f'{word:10}', fg=_COLORS[word])}  {line}")
    if options.json:
        print_json({"repositories": documents})
    return 0 if all(document["ok"] for document in documents) else 1


def _verify(
    invocation: Invocation, repository: ListedRepository, signer: Signer | None
) -> tuple[str, str, dict[str, Any]]:
    """Return the word, the details and the JSON document of a repository."""
    opened = open_repository(invocation, repository)
    try:
        if opened.error is not None:
            raise opened.error
        if opened.project is None:
            details = f"{opened.root} does not exist"
            return MISSING, details, {"ok": True, "missing": True, "streams": []}
        report = verify_all(opened.project.trace, signer=signer)
    except RemoraError as error:
        return UNREADABLE, error.message, {"ok": False, "error": error.message, "streams": []}
    details = count(len(report.streams), "stream")
    if not report.ok:
        details += f"; see `remora trace verify --root {opened.root}`"
    return _OK if report.ok else DAMAGED, details, report.as_json()
