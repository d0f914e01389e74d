"""The `config show` command, which lists each setting, its value and the origin of the value."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, table
from remora.cli.app.project_context import invocation_of, note_always_on
from remora.errors import NotFound
from remora.text import did_you_mean

_DEFAULT = "default"


@command(
    "show",
    examples=(
        "remora config show",
        "remora config show runner.max_turns",
        "remora config show model --json",
    ),
)
@click.argument("key", required=False)
def show(options: Options, key: str | None) -> int:
    """Show settings and where their values come from.

    KEY is a setting or a section, such as model. Values come from these sources, highest priority
    first: command-line options, environment variables, the project (remora.yaml or [tool.remora] in
    pyproject.toml), your own configuration file, and the defaults.
    """
    from remora.bootstrap.invocation import open_with_places

    invocation = invocation_of(options)
    config, places = open_with_places(invocation, invocation.find_root())
    settings = [
        {"key": ".".join(where), "value": value, "from": places.get(where, _DEFAULT)}
        for where, value in _leaves(config.model_dump(mode="json"), ())
    ]
    if key is not None:
        known = [setting["key"] for setting in settings]
        settings = [setting for setting in settings if f"{setting['key']}.".startswith(f"{key}.")]
        if not settings:
            hint = "`remora config show` lists all settings"
            raise NotFound(f"no setting {key!r}{did_you_mean(key, known)}", hint=hint)
    rows = [[setting["key"], json.dumps(setting["value"]), setting["from"]] for setting in settings]
    note_always_on(options, config)
    emit(options, {"settings": settings}, table(("KEY", "VALUE", "FROM"), rows))
    return 0


def _leaves(value: Mapping[str, Any], where: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from _leaves(inner, (*where, name))
        else:
            yield (*where, name), inner
