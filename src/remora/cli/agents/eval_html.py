"""The option `--html` of the `eval` commands."""

from pathlib import Path

import click

from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import PATH, Options
from remora.cli.app.output import note

HTML = click.option(
    "--html", "html", type=PATH, metavar="FILE", help="Also write a page with pictures."
)


def write_page(options: Options, file: Path, page: str) -> None:
    """Write a page, which replaces the file when it is complete."""
    from remora.exports.output_file import replace_when_done

    with replace_when_done(file) as output:
        output.write(page.encode("utf-8", "backslashreplace"))
    note(options, f"wrote {file}")


def project_name(options: Options) -> str:
    """Return the name of the project's folder."""
    return invocation_of(options).find_root().name
