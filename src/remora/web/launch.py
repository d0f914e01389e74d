"""Starts the server of the page for a project."""

import sys
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from socket import socket
from threading import Thread

from markupsafe import escape

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_records
from remora.errors import OutsideError
from remora.local_server.serving import listen, serve, url_of
from remora.rmtree import temporary_folder
from remora.web.application import create_app
from remora.web.session import Session

_HOST = "127.0.0.1"
_SWITCH_S = 0.001
_REDIRECT = '<!doctype html><meta http-equiv="refresh" content="0; url={0}"><a href="{0}">{0}</a>\n'


def serve_pages(
    invocation: Invocation, ports: Sequence[int], show_link: Callable[[str], None]
) -> None:
    """Serve a project's pages until the process is interrupted, on the first port that is free.

    `show_link` gets a link that lets one browser in, and another one whenever a link was used.
    Raises NotFound if there is no project, and OutsideError if all ports are in use.
    """
    invocation = replace(invocation, root=invocation.find_root())
    open_records(invocation)  # report a damaged configuration now
    with _listen_on_first(ports) as listener:
        url = url_of(listener)
        session = Session(listener.getsockname()[1])

        def show_next_link() -> None:
            show_link(url + session.new_link())

        # a request that reads a whole stream must not delay the others
        sys.setswitchinterval(_SWITCH_S)
        app = create_app(invocation, session, show_next_link)
        show_next_link()
        serve(app, listener)


def _listen_on_first(ports: Sequence[int]) -> socket:
    for port in ports[:-1]:
        with suppress(OutsideError):
            return listen(_HOST, port)
    return listen(_HOST, ports[-1])


@contextmanager
def private_browser() -> Iterator[Callable[[str], None]]:
    """Yield a function that opens a link in the default browser and returns at once.

    All users of the machine can see a browser's arguments. They have the name of a private file,
    which leads to the link.
    """
    with temporary_folder("ui-") as folder:
        file = folder / "open.html"
        file.touch(0o600)

        def open_link(link: str) -> None:
            file.write_text(_REDIRECT.format(escape(link)), encoding="utf-8")
            # a browser in the terminal runs until the user leaves it
            Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()

        yield open_link
