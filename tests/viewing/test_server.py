"""The loopback server shows a page to its user's browser, and to nobody else."""

import http.client
import re
import threading

import pytest

from autochron.errors import UsageError
from autochron.viewing.server import PageServer


@pytest.fixture
def server():
    with PageServer(b"<p>page</p>") as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path=None, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        connection.putrequest(method, server.path if path is None else path, skip_host=True)
        for name, value in {"Host": f"127.0.0.1:{server.server_port}", **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def test_the_page_is_at_an_address_that_nobody_can_guess(server):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", server.url)
    status, body, headers = ask(server)
    assert (status, body) == (200, b"<p>page</p>")
    assert (headers["Cache-Control"], headers["Referrer-Policy"], headers["X-Frame-Options"]) == (
        "no-store",
        "no-referrer",
        "DENY",
    )


@pytest.mark.parametrize("path", ["/", "/index.html", "/x" * 400, "//", "/%2e%2e/etc/passwd"])
def test_every_other_address_has_nothing(server, path):
    assert ask(server, path)[:2] == (404, b"Not Found\n")


def test_the_token_of_another_server_is_no_use(server):
    with PageServer(b"other") as other:
        assert ask(server, other.path)[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1:80@evil.example", ""]
)
def test_a_name_that_points_here_gets_nothing(server, host):
    assert ask(server, Host=host)[0] == 421


def test_localhost_is_the_same_host(server):
    assert ask(server, Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_another_site_gets_nothing(server, headers):
    assert ask(server, **headers)[0] == 403


def test_a_file_of_the_user_may_lead_here_and_nothing_else_may_use_the_answer(server):
    navigation = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert ask(server, **navigation, Sec_Fetch_Dest="document")[0] == 200
    assert ask(server, **navigation, Sec_Fetch_Dest="iframe")[0] == 403


def test_its_own_origin_gets_the_page(server):
    assert ask(server, Origin=f"http://127.0.0.1:{server.server_port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_can_be_sent(server, method):
    assert ask(server, method=method)[0] == 501


def test_the_head_alone_can_be_asked_for(server):
    status, body, headers = ask(server, method="HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", "11")


def test_a_taken_port_is_told_in_one_line(server):
    with pytest.raises(
        UsageError,
        match=rf"^port {server.server_port} of 127\.0\.0\.1 can't be used \(.*\); give another --port",
    ):
        PageServer(b"", server.server_port)
