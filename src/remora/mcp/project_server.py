"""Starts the server for a project on standard input and output, or on HTTP."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace

from remora.bootstrap.invocation import Invocation
from remora.mcp.client_settings import PATH, project_token
from remora.mcp.hub_answers import HubAnswers
from remora.mcp.project_data import ProjectRedactor
from remora.mcp.record_answers import RecordAnswers
from remora.mcp.server import Allowance, Handlers, create_server

_TOKEN_HINT = "`remora mcp --print-config CLIENT --http PORT` prints it"  # noqa: S105 (a message)


def serve(
    invocation: Invocation,
    address: tuple[str, int] | None,
    note: Callable[[str], None],
    allowed: Allowance,
    *,
    gives_jobs: bool = False,
) -> None:
    """Serve the project of an invocation until the client is gone or the process is interrupted.

    `address` is a loopback address and a port, or None for standard input and output. `note` gets
    messages for people. If `gives_jobs` is true, clients decide jobs. Raises OutsideError if the
    address cannot be used.
    """
    root = invocation.find_root()
    invocation = replace(invocation, root=root)
    project = ProjectRedactor(invocation)
    with ExitStack() as stack:
        hub = stack.enter_context(closing(HubAnswers(invocation, project, note)))
        handlers = Handlers(
            hub,
            RecordAnswers(invocation),
            invocation,
            project,
            allowed,
        )
        if gives_jobs:
            from remora.mcp.jobs.job_answers import JobAnswers

            handlers.offer_jobs(stack.enter_context(closing(JobAnswers(invocation))))
        server = create_server(handlers)
        if address is None:
            from remora.mcp.stdio_transport import serve_stdio

            serve_stdio(server)
            return
        from remora.local_server.request_guard import BearerToken, LocalOnly
        from remora.local_server.serving import listen, url_of
        from remora.local_server.serving import serve as serve_app

        app = server.streamable_http_app(streamable_http_path=PATH)
        guarded = LocalOnly(BearerToken(app, project_token(invocation), _TOKEN_HINT))
        listener = listen(*address)
        note(f"serving MCP on {url_of(listener)}{PATH}")
        serve_app(guarded, listener)
