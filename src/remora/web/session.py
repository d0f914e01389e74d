"""The session of a server: links, the cookie that they set, and a token."""

import hmac
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from secrets import token_urlsafe
from threading import Lock

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from remora.web.html_responses import error_page

START = "/start/"
_OPEN_TO_ALL = (START, "/static/")
"""Paths that need no cookie. Error pages use the style sheet, which contains nothing of a project."""
_MOST_LINKS = 32

_OWN_REQUESTS = ("none", "same-origin")
"""Values of `Sec-Fetch-Site` if a user entered an address, and if our page sent the request.

Old browsers do not send it.
"""
_OPEN_LINK = (
    "Open the link that `remora ui` printed. Each link works once; when one was used, "
    "the command prints another."
)
_OPEN_PAGE = "Enter the address of the page, or open it from the list of runs."


class Session:
    """The secrets of a server, which end with it.

    `cookie` is the name of the cookie. It contains the port, because a browser sends the cookies of
    a host to all its ports.
    """

    def __init__(self, port: int) -> None:
        self.cookie = f"remora_ui_{port}"
        self.secret = token_urlsafe(32)
        self.form_token = hmac.new(self.secret.encode(), b"form", sha256).hexdigest()
        self._links: list[str] = []
        self._lock = Lock()

    def new_link(self) -> str:
        """Return the path of a new link. Only the newest links work."""
        code = token_urlsafe(24)
        with self._lock:
            self._links = [*self._links, code][-_MOST_LINKS:]
        return START + code

    def use_link(self, code: str) -> bool:
        """Return True if a link works. From then on, it does not."""
        with self._lock:
            found = [link for link in self._links if _are_equal(link, code)]
            self._links = [link for link in self._links if link not in found]
        return bool(found)

    def has_cookie(self, headers: Headers) -> bool:
        """Return True if a request has the cookie of this server."""
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        given = cookies.get(self.cookie)
        return given is not None and _are_equal(given.value, self.secret)

    def is_own_form(self, token: str) -> bool:
        """Return True if a form was made by this server."""
        return _are_equal(token, self.form_token)


class CookieCheck:
    """Refuses requests without the session's cookie or from other pages, except `_OPEN_TO_ALL`.

    A page on another port of this host is not another site, so that a browser adds the cookie to
    its requests.
    """

    def __init__(self, app: ASGIApp, session: Session) -> None:
        self._app = app
        self._session = session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._app
        if scope["type"] == "http" and not scope["path"].startswith(_OPEN_TO_ALL):
            headers = Headers(scope=scope)
            if not self._session.has_cookie(headers):
                answer = error_page(403, "This browser has not been let in", _OPEN_LINK)
            elif headers.get("sec-fetch-site", "none") not in _OWN_REQUESTS:
                answer = error_page(403, "Another page sent this request", _OPEN_PAGE)
        await answer(scope, receive, send)


def _are_equal(given: str, secret: str) -> bool:
    """Compare in constant time, so that response times do not tell how much was right."""
    return hmac.compare_digest(given.encode(), secret.encode())
