"""HTML responses: templates that escape, and headers that keep a page to itself."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remora.code.syntax.diff_parts import HUNK, DiffLine, Part, diff_lines
from remora.errors import RemoraError
from remora.ids import display_name
from remora.memory.canonical import json_text
from remora.statuses import STATUSES, UNDECIDED, proven_text
from remora.text import REPORT, age_text, bug_report_line, count, size_text
from remora.tools.host.ruff.rules import with_name
from remora.version import __version__
from remora.web.addresses import FileLinks, Links, PageLinks
from remora.web.value_view import (
    breakable,
    value_html,
    visible,
    visible_line,
    with_code,
    without_hidden,
)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_STATES = (
    *("verified", "failed", "error", "interrupted", "damaged", "running"),
    *("success", "partial", "conflict", "accepted", "taken_out"),
)
"""States that have a colour in `static/page.css`."""
_CODE, _NODE = re.compile(r"\b[A-Z]+\d+\b"), re.compile(r"[\w./-]+\.pyi?(:[\w.]*\w)?")
_LINK = r'<a href="?name=\g<0>">\g<0></a>'
_TAGS = {"keyword": "b", "string": "i", "comment": "i"}
"""Elements for the syntax in a line of a diff."""
_MOST_OF_LINE, _MOST_OF_PART = 2000, 600
"""Characters that are shown of a line of a diff, and of a changed part of a packet."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageHeaders:
    """Adds `HEADERS` to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)


@cache
def templates() -> Environment:
    """Return the templates of the page."""
    found = Environment(
        loader=PackageLoader("remora.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=without_hidden,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters |= {
        "visible": visible,
        "line": visible_line,
        "diff_html": diff_html,
        "with_code": with_code,
        "find_link": find_link,
        "command": Markup("<code>{}</code> <button data-copy>Copy</button>").format,
        "with_links": lambda text: Markup(_NODE.sub(_LINK, str(with_code(text)))),  # noqa: S704 (escaped)
        "with_rule_names": lambda text: _CODE.sub(lambda code: with_name(code[0]), text),
        "breakable": breakable,
        "node_name": lambda key: visible_line(display_name(key)),
        "time": lambda timestamp: timestamp[:19].replace("T", " "),  # without its fraction
        "age": lambda timestamp: age_text(timestamp, datetime.now(UTC)),
        "size": size_text,
        "state": state_html,
        "state_word": lambda state: proven_text(state, None),
        "state_class": _state_class,
        "value": value_html,
        "brief": _brief,
        "number": lambda value: f"{value:,}",
    }
    found.globals |= {
        "count": count,
        "STATUSES": STATUSES,
        "UNDECIDED": UNDECIDED,
        "version": __version__,
        "now": lambda: datetime.now(UTC).isoformat(),
    }
    return found


def load_templates() -> None:
    """Read all templates."""
    for name in templates().list_templates():
        templates().get_template(name)


def render(name: str, **values: Any) -> str:
    """Return a template as HTML."""
    return templates().get_template(name).render({"link": PageLinks(), **values})


def page(name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page or a part of one."""
    return HTMLResponse(render(name, **values), status)


def page_in_two_parts(
    name: str, body: Callable[[Links], str], request: Request, **values: Any
) -> StreamingResponse:
    """Return a page whose beginning is sent before its body is computed.

    The body takes the place of `<!-- body -->`. An error is shown in its place. With `?file=1`, a
    browser saves the page, which contains its style.
    """
    link: Links = FileLinks(()) if "file" in request.query_params else PageLinks()
    style = Markup((files("remora.web") / "static/page.css").read_text("utf-8"))  # noqa: S704 (our own)
    above, below = render(name, link=link, style=style, **values).split("<!-- body -->")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'} if link.in_file else None

    def parts() -> Iterator[str]:
        yield above
        try:
            yield body(link)
        except Exception as error:  # noqa: BLE001 (the beginning is sent: only the place is left)
            fault = RemoraError(bug_report_line(error), hint=REPORT)
            yield render("problem.html", error=error if isinstance(error, RemoraError) else fault)
        yield below

    return StreamingResponse(parts(), headers=headers, media_type="text/html")


def error_page(
    status: int, title: str, detail: str, run: str = "", *, is_review: bool = False
) -> HTMLResponse:
    """Return a page that says what is wrong and what to do, with a link to a run or its review."""
    values = {"title": title, "detail": detail, "run": run, "is_review": is_review}
    return page("error.html", status=status, code=status, **values)


def download(data: bytes, name: str) -> Response:
    """Return bytes as a file that a browser saves and never shows."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, 200, headers, "application/octet-stream")


def diff_html(diff: str, before: bytes = b"") -> Markup:
    """Return a diff of a file `before` it as lines of HTML, with their numbers in both versions."""
    old, new, html = 0, 0, list[str]()
    for line in diff_lines(diff, before.decode("utf-8", "replace")):
        numbers = ("", "")
        if line.kind == "hunk" and (begins := HUNK.match(line.text)):
            old, new = int(begins[1]), int(begins[3])
        elif line.kind in ("add", "del", "") and not line.text.startswith("\\"):
            is_old, is_new = line.kind != "add", line.kind != "del"
            numbers = f"{old}" * is_old, f"{new}" * is_new
            old, new = old + is_old, new + is_new
        span = Markup('<span class="{}" data-old="{}" data-new="{}">{}</span>')
        html.append(span.format(line.kind, *numbers, _diff_line(line) or " "))
    return Markup("").join(html)


@pass_context
def find_link(context: Context, name: str, shown: str = "") -> Markup:
    """Return a link to the page of a function, file or test such as `tests/a.py::test_b[1]`, or a name."""
    if context["link"].in_file:
        return visible_line(shown or display_name(name))
    query = display_name(name).partition("[")[0].replace("::", ":", 1).replace("::", ".")
    link = Markup('<a href="/nodes?name={}">{}</a>')
    return link.format(quote(query, safe=""), visible_line(shown or display_name(name)))


def _diff_line(line: DiffLine) -> Markup:
    is_long = len(line.text) > _MOST_OF_LINE
    shown = DiffLine(line.kind, (Part(line.text),)) if is_long else line
    html = Markup()
    for part in shown.parts:
        text = visible_line(part.text, _MOST_OF_LINE)
        for tag in filter(None, (_TAGS.get(part.syntax), "u" if part.is_other else None)):
            text = Markup("<{0}>{1}</{0}>").format(tag, text)
        html += text
    return html


def _brief(value: Any) -> Markup:
    """Return a part of a packet as HTML: of an action what it did, of code its lines."""
    match value:
        case {"tool": tool, "summary": summary}:
            value = f"{tool}: {summary}"
        case {"value": value, "source_turn": _} | {"path": _, "text": value}:
            pass
    if isinstance(value, dict):
        value = ", ".join(f"{name} {part}" for name, part in value.items())
    return visible(value if isinstance(value, str) else json_text(value), _MOST_OF_PART)


def state_html(state: str | None, proof: str | None = None) -> Markup:
    """Return a status or an outcome as HTML, in its colour."""
    shown = without_hidden(proven_text(state or "", proof))
    return Markup('<span class="state {}">{}</span>').format(_state_class(state), shown)


def _state_class(state: str | None) -> str:
    """Return the class for the colour of a state: nothing for one that we have not recorded."""
    return state if state in _STATES else ""
