"""The `ui` command, which shows runs in a browser."""

import click

from remora.cli.app.options import Options, command
from remora.cli.app.project_context import invocation_of
from remora.errors import UsageError

_PORT = 8787
_FREE = 0


@command("ui", examples=("remora ui", "remora ui --open", "remora ui --port 9000"))
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="PORT",
    help=f"Port on 127.0.0.1; 0 picks a free one. [default: {_PORT}, or a free one]",
)  # fmt: skip
@click.option("--open", "opens", is_flag=True, help="Open the page in the default browser.")
def ui(options: Options, *, port: int | None, opens: bool) -> int:
    """Show runs, agents and their turns in a browser.

    For each turn, the page shows why the agent failed, the tool's raw output beside the packet that
    the model saw, the exact prompt, the candidates, the changed files and the
    recorded events. New turns appear while an agent runs. The server listens on this machine only.
    The link that it prints lets one browser in; another one is printed when it was used. Stop it
    with Ctrl-C. Requires the extra ui.
    """
    from remora.bootstrap.open_trace import require_extra

    if options.json:
        raise UsageError("--json cannot be combined with ui", hint="use `remora show RUN --json`")
    require_extra("jinja2", "ui")
    require_extra("sse_starlette", "ui")
    from remora.web.launch import private_browser, serve_pages

    is_first = True

    def show_link(link: str) -> None:
        nonlocal is_first
        click.echo(f"open {link}" if is_first else f"for another browser: {link}")
        if opens and is_first:
            open_link(link)
        is_first = False

    ports = (_PORT, _FREE) if port is None else (port,)
    with private_browser() as open_link:
        try:
            serve_pages(invocation_of(options), ports, show_link)
        except KeyboardInterrupt:
            if is_first:  # not serving yet
                raise
    return 0
