"""Secrets that their surroundings give away: text of many kinds, command lines, sign-in flows, encodings."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autochron.envelope.names import SecretNames
from autochron.envelope.redaction import Redactor

VALUE = "hunter" + "2Xq"

# `@` stands for the secret: no file of ours holds one.
TEXTS = [
    # YAML
    "password: @",
    "db:\n  host: x\n  password: @\n  user: y\n",
    '- password: "@"',
    "password: |\n  @\n  more\nuser: bob\n",
    "api_key: >-\n    @\nnext: 1\n",
    "secrets:\n  db: @\n  other: 'x@'\nplain: 1\n",
    "{password: @, user: bob}",
    "env:\n- name: DB_PASSWORD\n  value: @\n",
    "{'key': 'api_key', 'value': '@'}",
    # INI, properties, environments
    "[db]\nuser = bob\npassword = @\n",
    "db.password = @",
    "spring.datasource.password=@",
    "export X_TOKEN=@",
    "X_TOKEN=@ ./run",
    "set DB_PASS=@",
    "DB_PASS=@",
    "PGPASSWORD=@ psql -h x",
    "env:\n  - X_SECRET=@",
    # XML
    "<password>@</password>",
    '<db:password type="plain">@</db:password>',
    '<c password="@"/>',
    '<add key="ApiKey" value="@"/>',
    '<property name="password">@</property>',
    "<property name='password' value='@'/>",
    "<password><![CDATA[@]]></password>",
    "<key>password</key>\n<string>@</string>",
    '<input type="password" value="@">',
    # netrc, pgpass
    "machine api.example.invalid login bob password @",
    "machine h\n  login bob\n  password @\n",
    "default login bob password @",
    "db.example.invalid:5432:app:bob:@",
    "# hosts\nlocalhost:5432:*:bob:@\n",
    "*:*:*:bob:@",
    # command lines
    "curl -u bob:@ https://example.invalid",
    "curl -s --user 'bob:@' https://example.invalid",
    "curl -ubob:@ x",
    "tool --password @",
    "tool --password=@",
    'tool --api-key "@" go',
    "mysql -u root -p@ db",
    "mysql -u root -p @ db",
    "sshpass -p @ ssh x",
    "sudo docker login -u bob -p '@' registry.invalid",
    "redis-cli -a @ ping",
    "openssl rsa -passin pass:@",
    "aws configure set aws_secret_access_key @",
    "['mysql', '-p@']",
    # SQL
    "ALTER USER bob IDENTIFIED BY '@'",
    "CREATE USER bob WITH PASSWORD '@';",
    "UPDATE u SET password = '@' WHERE id = 1",
    "SET PASSWORD FOR bob = PASSWORD('@')",
    "INSERT INTO users (name, password, age) VALUES ('bob', '@', 3), ('al', '@', 4)",
    # headers
    "Authorization: Token @",
    "Authorization: Basic @",
    'Authorization: Digest username="bob", response="@"',
    "Authorization: Unheard-of @",
    "GET / HTTP/1.1\r\nHost: x\r\nX-Api-Key: @\r\nAccept: y\r\n",
    "curl -H 'X-Api-Key: @' https://example.invalid",
    'curl -H "Authorization: ApiKey @" https://example.invalid',
    "Cookie: session=@; theme=dark",
    # a name and its value side by side
    "('password', '@')",
    "[('api_key', '@')]",
    # URLs and forms of sign-in flows
    "https://app.invalid/callback?code=@&state=abc",
    "https://app.invalid/x?state=abc&code=@",
    "grant_type=authorization_code&code=@&redirect_uri=x",
    "client_id=x&client_secret=@",
    "https://example.invalid/login?ticket=@",
    "https://example.invalid/#id_token=@&x=1",
    "SAMLResponse=@&RelayState=x",
    "grant_type=x&assertion=@",
    "grant_type=x&code_verifier=@",
    # prose and code
    "**Password:** @",
    "- **API key**: `@`",
    "api key: @",
    "My password is @",
    "login failed for bob, passwd: @, try again",
    "password => '@'",
    "setPassword('@')",
    "ENV API_TOKEN @",
    "password @",
    "['user', 'bob', 'password', '@']",
    'password: str = "@"',
    'os.environ["X_TOKEN"] = "@"',
]

PLAIN = [
    "max_tokens: 500",
    "password policy: at least 8 characters",
    "Password: must contain at least one digit.",
    "def login(user: str, password: str) -> None:",
    "api_key: str | None = None,",
    "password: ${DB_PASSWORD}",
    'password = os.environ["X"]',
    "token = get_token(1)",
    "secret = args.secret",
    "next_page_token: abc123",
    "the token is a unit of text",
    "Enter your password: then click on the button",
    "status_code=404&code=12",
    "https://example.invalid/promo?code=SPRING24",
    "pin_code: 560001",
    "gpio_pin = 13",
    "pass_rate: 0.95",
    "bypass: yes",
    "boarding pass: gate 12",
    "file.py:1200:5:E501:line-too-long",
    "12:30:45:67:89",
    "mkdir -p a/b/c",
    "docker run -p 8080:80 nginx",
    "ssh -p 2222 host",
    "use the --password option to set it",
    "The API key is required for this",
    "cookie policy: accept",
    "<author>Jane</author>",
    "shipping: 12",
    "confirmation code: XYZ123",
    "SELECT password FROM users",
    "CREATE TABLE users (id int, password varchar(20))",
    "INSERT INTO flights (id, code) VALUES (1, 'HAT001')",
    "https://example.invalid/a%20b%2Fc",
    "token, rest = line.split()",
    "for token in tokens:",
    "['password', 'email']",
    "get_token('x1')",
    "a token in 2020 was one",
]


def _masked_in_json(text: str) -> str:
    value = json.loads(Redactor().mask(msgspec.json.encode({"a": [text]})))["a"][0]
    assert isinstance(value, str)
    return value


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("frame", ["{}", "é\n{}", "one\n\n{}\ntwo"])
def test_a_secret_is_known_by_what_stands_around_it(text: str, frame: str) -> None:
    planted = frame.replace("{}", text.replace("@", VALUE))
    masked = Redactor().mask_text(planted)
    assert VALUE not in masked
    assert "[masked]" in masked
    assert _masked_in_json(planted) == masked
    assert Redactor().mask_text(masked) == masked


@pytest.mark.parametrize("text", PLAIN)
def test_what_only_sounds_like_a_secret_stays(text: str) -> None:
    assert Redactor().mask_text(text) == text
    assert _masked_in_json(text) == text


def test_what_stands_around_a_secret_stays() -> None:
    text = f"db:\n  password: {VALUE}  # the old one\n  user: bob\n"
    assert Redactor().mask_text(text) == "db:\n  password: [masked]  # the old one\n  user: bob\n"
    assert (
        Redactor().mask_text(f"curl -u bob:{VALUE} https://x.invalid")
        == "curl -u bob:[masked] https://x.invalid"
    )


@pytest.mark.parametrize(
    "name",
    "pin otp cvv cvc passcode DB_PASS PGPASSWORD mfa_code totp_secret card_pin jwt security_code".split(),
)
def test_short_names_are_secret(name: str) -> None:
    body = msgspec.json.encode({name: "4821", "number": {name: 4821}, "few": {name: 48}})
    assert json.loads(Redactor().mask(body))[name] == "[masked]"
    assert json.loads(Redactor().mask(body))["few"] == {name: 48}


@pytest.mark.parametrize("name", ["pin", "otp", "cvv", "passcode", "mfa_code"])
def test_a_number_under_the_name_of_a_code_is_secret(name: str) -> None:
    assert json.loads(Redactor().mask(msgspec.json.encode({name: 4821}))) == {name: "[masked]"}


@pytest.mark.parametrize(
    "name",
    "pin_code gpio_pin pinned pass_rate bypass boarding_pass status_code zip_code promo_code passenger spin".split(),
)
def test_names_that_hold_a_short_one_are_not(name: str) -> None:
    body = msgspec.json.encode({name: "4821", "text": f"{name}: 4821"})
    assert Redactor().mask(body) == body


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["password", VALUE], ["password", "[masked]"]),
        ([["api_key", VALUE]], [["api_key", "[masked]"]]),
        (["user", "bob", "password", VALUE], ["user", "bob", "password", "[masked]"]),
        (["x", "--password", VALUE, "-v"], ["x", "--password", "[masked]", "-v"]),
        (["curl", "-u", f"bob:{VALUE}", "-v"], ["curl", "-u", "bob:[masked]", "-v"]),
        (["/usr/bin/mysql", f"-p{VALUE}"], ["/usr/bin/mysql", "-p[masked]"]),
        (["cookies", "milk"], ["cookies", "milk"]),
        (
            {"code": VALUE, "grant_type": "authorization_code"},
            {"code": "[masked]", "grant_type": "authorization_code"},
        ),
        (
            {"grant_type": "x", "client_id": "y", "code": VALUE},
            {"grant_type": "x", "client_id": "y", "code": "[masked]"},
        ),
        ({"code": "E501", "client_id": "y"}, {"code": "E501", "client_id": "y"}),
        ({"required": ["password", "email"]}, {"required": ["password", "email"]}),
        (["password", "token"], ["password", "token"]),
        (["docker", "run", "-p", "80:80"], ["docker", "run", "-p", "80:80"]),
    ],
)
def test_sequences(value: object, expected: object) -> None:
    assert json.loads(Redactor().mask(msgspec.json.encode(value))) == expected


def test_names_and_values_as_bytes() -> None:
    pair = [{"$bytes": base64.b64encode(each.encode()).decode()} for each in ("x-api-key", VALUE)]
    masked = Redactor().mask(msgspec.json.encode([pair]))
    assert pair[1]["$bytes"].encode() not in masked


PROGRAM = """
import autochron

@autochron.boundary("read", kind="tool")
def read(command):
    return {"text": SAID}

found = read(COMMAND)
print(found["text"])
"""


def test_a_run_keeps_no_secret_that_its_tools_read(tmp_path: Path) -> None:
    said = "\n".join(text.replace("@", VALUE) for text in TEXTS)
    command = ["curl", "-u", f"bob:{VALUE}", "https://example.invalid"]
    (tmp_path / "autochron.toml").write_text("version = 1\npacks = []\n")
    (tmp_path / "agent.py").write_text(PROGRAM.replace("SAID", repr(said)).replace("COMMAND", repr(command)))
    run = [sys.executable, "-m", "autochron"]
    made = subprocess.run(
        [*run, "run", "agent.py", "--token", VALUE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout == f"{said}\n".replace("\r", "")
    assert VALUE not in made.stderr
    for arguments in (["show", "last", "--full"], ["export", "last", "trace.jsonl"]):
        told = subprocess.run(
            [*run, "traces", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert VALUE not in told.stdout
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "agent.py"]
    assert [file.name for file in kept if VALUE.encode() in file.read_bytes()] == []
    assert b"[masked]" in (tmp_path / "trace.jsonl").read_bytes()


# --- encoded ---


def _encodings(text: str) -> dict[str, str]:
    raw = text.encode()
    return {
        "base64": base64.b64encode(raw).decode(),
        "urlsafe": base64.urlsafe_b64encode(b"???>>>" + raw).decode(),
        "unpadded": base64.b64encode(raw).decode().rstrip("="),
        "lines": base64.encodebytes(b"x" * 90 + b"\n" + raw + b"\n" + b"y" * 60).decode().strip(),
        "hex": raw.hex(),
        "HEX": raw.hex().upper(),
        "gzip": base64.b64encode(gzip.compress(raw, mtime=0)).decode(),
        "gzip-hex": gzip.compress(raw, mtime=0).hex(),
        "url": urllib.parse.quote(text, safe=""),
        "url-all": "".join(f"%{byte:02X}" for byte in raw),
    }


@pytest.mark.parametrize(
    "text", [f"password={VALUE}", f'{{"api_key": "{VALUE}"}}', f"Authorization: Token {VALUE}"]
)
@pytest.mark.parametrize("encoding", _encodings("x"))
@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "see {} there",
        "a\n{}\nb",
        "https://example.invalid/{}",
        "data:text/plain;base64,{}",
        "k={}",
        "é{}",
    ],
)
def test_an_encoded_secret_is_masked_whole(text: str, encoding: str, frame: str) -> None:
    encoded = _encodings(text)[encoding]
    planted = frame.replace("{}", encoded)
    assert Redactor().mask_text(planted) == frame.replace("{}", "[masked]")
    assert _masked_in_json(planted) == frame.replace("{}", "[masked]")


@pytest.mark.parametrize("encoding", _encodings("x"))
def test_encoded_text_without_a_secret_stays(encoding: str) -> None:
    encoded = _encodings("the quick brown fox jumps over the lazy dog, and max_tokens=500")[encoding]
    assert Redactor().mask_text(encoded) == encoded


def test_bytes_that_are_compressed() -> None:
    packed = base64.b64encode(gzip.compress(f"password={VALUE}".encode())).decode()
    masked = Redactor().mask(msgspec.json.encode({"a": {"$bytes": packed}}))
    assert json.loads(masked) == {"a": {"$bytes": base64.b64encode(b"[masked]").decode()}}


def test_a_bomb_is_not_unpacked_whole() -> None:
    bomb = base64.b64encode(gzip.compress(b"\0" * 500_000_000, 9)).decode()
    began = time.process_time()
    assert Redactor().mask_text(bomb) == bomb
    assert time.process_time() - began < 5


# --- the quick look equals the slow one ---

_FRAGMENTS = [
    *(
        "password",
        "token",
        "pin",
        "pass",
        "api key",
        "X_TOKEN",
        "code",
        "DB_PASS",
        ": ",
        ":",
        "=",
        " = ",
        "\n",
        "\n  ",
        "- ",
    ),
    *(
        "abc1",
        "'abc1'",
        '"abc1"',
        " ",
        "<",
        ">",
        "</",
        "<password>",
        "curl -u ",
        "a:b1",
        " -p",
        "mysql",
        "--password ",
        " is ",
    ),
    *(
        "INSERT INTO t (password) VALUES ('a1')",
        "IDENTIFIED BY 'x'",
        "machine h password z",
        ":5432:a:b:c1",
        "?code=a&state=b",
    ),
    *(
        "\\",
        "é",
        "\t",
        ",",
        "[",
        "]",
        "(",
        "set ",
        "|",
        "%70ass%3Dabc",
        "cGFzc3dvcmQ9aHVudGVyMg==",
        "70617373776f72643d616263",
    ),
]
_text = st.lists(st.sampled_from(_FRAGMENTS), max_size=7).map("".join)
_json = st.recursive(
    _text | st.integers(-9, 99999),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=3) | inner.map(json.dumps)
    ),
    max_leaves=8,
)


class _Open(Redactor):
    """Masks with every gate open: the definition of what masking means."""

    def __init__(self) -> None:
        super().__init__()
        scanner = type(self._scanner)

        class Scanner(scanner):  # type: ignore[misc, valid-type]
            def suspicious(self, text: str) -> bool:
                return True

        self._scanner = Scanner(SecretNames())


@settings(max_examples=500, deadline=None)
@given(_json, st.integers(0, 2))
def test_the_quick_look_never_misses(value: object, style: int) -> None:
    body = (
        msgspec.json.encode(value)
        if style == 0
        else json.dumps(value, indent=None if style == 1 else 1).encode()
    )
    masked = Redactor().mask(body)
    json.loads(masked)
    assert masked == _Open().mask(body)
    # A secret inside a field's name: what is left of the name may be a secret's name itself, and then more is masked.
    assume(not re.search(rb"\[masked\][^\"]*\"\s*:", masked))
    assert Redactor().mask(masked) == masked


# --- linear time: see test_linear_time ---

ATOMS = [
    *(
        "password",
        "secret",
        "token",
        "key",
        "pin",
        ":",
        "=",
        ">",
        "<",
        '"',
        "'",
        "\\",
        "[",
        "{",
        ",",
        "%4",
        "%41",
        " -p",
        "curl ",
    ),
    *(
        "INSERT INTO t (password",
        "VALUES (",
        "IDENTIFIED BY '",
        "machine h password ",
        "code=",
        "Set-Cookie:",
        "eJ",
        "H4sI",
    ),
    *(
        "password: |\n",
        "<password>",
        '"token":"a","bytes":',
        '"value":"abc",',
        "\\n",
        "'a':\\\"",
        "\n",
        " ",
        "?",
        "-- ",
        "`",
    ),
]
