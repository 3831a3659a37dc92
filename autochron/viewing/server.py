"""A server on loopback that shows one page.

Web sites and other users of this machine must not read a trace. So the address has a random token. And a request is refused
if its Host is another one, as from a web site that points its own name here, or if it comes from another site.
"""

from __future__ import annotations

import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from autochron.errors import UsageError

_HOST = "127.0.0.1"
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
}
"""The page itself has a content security policy, too; both are in force."""


class PageServer(ThreadingHTTPServer):
    """Serves a page at one address."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, page: bytes, port: int = 0) -> None:
        """Bind to a port of loopback.

        Args:
            page: the page.
            port: the port; 0 for any free one.

        Raises:
            UsageError: the port is taken, or can't be used.
        """
        try:
            super().__init__((_HOST, port), _PageHandler)
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(
                f"port {port} of {_HOST} can't be used ({why}); give another --port, or none for a free one"
            ) from None
        self.page = page
        self.path = f"/{secrets.token_urlsafe(24)}/"

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://{_HOST}:{self.server_port}{self.path}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let a browser close its connection at any time."""


class _PageHandler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version = "autochron"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer with the page, or refuse."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer without the page."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        status = self._status()
        body = self.server.page if status is HTTPStatus.OK else f"{status.phrase}\n".encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            plain = (
                "text/plain; charset=utf-8"
                if name == "Content-Type" and status is not HTTPStatus.OK
                else value
            )
            self.send_header(name, plain)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _status(self) -> HTTPStatus:
        own = {f"{name}:{self.server.server_port}" for name in (_HOST, "localhost")}
        hosts = self.headers.get_all("Host", [])
        origins = self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in own:
            return HTTPStatus.MISDIRECTED_REQUEST
        if any(origin.lower() not in {f"http://{host}" for host in own} for origin in origins):
            return HTTPStatus.FORBIDDEN
        # A file of the user's leads here, too: see `cli.view`. Nothing but a page of its own may be made of the answer.
        is_navigation = (
            self.headers.get("Sec-Fetch-Mode") == "navigate"
            and self.headers.get("Sec-Fetch-Dest") == "document"
        )
        if not is_navigation and self.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            return HTTPStatus.FORBIDDEN
        if not secrets.compare_digest(self.path.encode("utf-8", "replace"), self.server.path.encode()):
            return HTTPStatus.NOT_FOUND
        return HTTPStatus.OK

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Write no log: an address in it would have the token."""
