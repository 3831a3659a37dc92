"""Texts of many kinds with a secret in them, for the tests and for the figures of docs/security.md.

`@` stands for the secret, so that no file of the repository holds one.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import urllib.parse
from collections.abc import Iterator

import msgspec

from autochron.redaction.redactor import Redactor
from tests.security.secret_shapes import Sample, make

VALUE = "hunter" + "2Xq"

# Names of fields that are secret.
SECRET_NAMES = """
authorization Authorization api_key apiKey apikey APIKey x-api-key X-Api-Key token access_token
accessToken refresh_token id_token password passwd newPassword secret client_secret clientSecret cookie
set-cookie Set-Cookie private_key credential credentials session_token OPENAI_API_KEY
aws_secret_access_key proxy-authorization password2 private_key_pem db.password csrf_token bot_token
""".split()
SHORT_NAMES = (
    "pin otp cvv cvc passcode DB_PASS PGPASSWORD mfa_code totp_secret card_pin jwt security_code".split()
)

NUMBER = "ACME-" + "49302718"
PATTERNS = ["ACME-[0-9]{8}", r"\\bACME-\\d+", "(?<![A-Z])ACME-[0-9]{6,10}"]
RULED = [
    NUMBER,
    f"see {NUMBER}.",
    f"\n{NUMBER}\n",
    {"a": [f"é {NUMBER}"]},
    json.dumps({"inner": json.dumps([NUMBER])}),
    {NUMBER: 1},
    'a "quoted" ' + NUMBER,
]

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


FRAMES_OF_TEXTS = ["{}", "é\n{}", "one\n\n{}\ntwo"]

ENCODED = [f"password={VALUE}", f'{{"api_key": "{VALUE}"}}', f"Authorization: Token {VALUE}"]
FRAMES_OF_ENCODED = [
    "{}",
    "see {} there",
    "a\n{}\nb",
    "https://example.invalid/{}",
    "data:text/plain;base64,{}",
    "k={}",
    "é{}",
]


def encodings(text: str) -> dict[str, str]:
    """Return the text in each encoding that the redactor decodes."""
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


# Texts around a secret. Where nothing stands before or after `{}`, the secret is at the start or end of the string.
FRAMES_OF_FORMATS = [
    "{}",
    "{} is the key",
    "the key is {}",
    "see {} there",
    "(see {})",
    "'{}'",
    '"{}"',
    "`{}`",
    "it is {}, and",
    "it is {}.",
    "it is {};",
    "<{}>",
    "[{}]",
    "key={}",
    "key: {}",
    "a\n{}\nb",
    "\t{}\t",
    "é{}é",
    "https://example.invalid/x?q=1&k={}&z=2",
    "a\\n{}\\n",
    "\x1b[31m{}\x1b[0m",
]

NAMES_OF_VENDORS = [
    '{v}_token = "{s}"',
    "{v}Key: {s}",
    "{V}_API_KEY={s}",
    "set {v}-secret => '{s}' now",
    '"{v}_id": "{s}",\n',
    "export {V}_CLIENT_SECRET='{s}'\n",
    '{v}.api.key := "{s}";',
    "<{v}-token>{s}</{v}-token>",
    'connect("{v}_secret", "{s}")',
    "https://example.invalid/?{v}_token={s}&x=1",
]


def beside_vendors(rule: str, vendor: str, shape: str) -> Iterator[Sample]:
    """Yield samples of a value with the name of its vendor beside it."""
    rng = random.Random(rule + shape)
    for name in NAMES_OF_VENDORS:
        if "<d" in shape and "_id" in name:
            continue  # such an id would be one of a user or a channel
        sample = make(shape, rng)
        text = name.replace("{v}", vendor).replace("{V}", vendor.upper()).replace("{s}", sample.text)
        yield Sample(text, sample.secrets)


def left(secrets: tuple[str, ...], text: str) -> list[str]:
    """List the secret parts that are still in a text. Parts of up to five characters may occur by chance and don't count."""
    return [secret for secret in secrets if len(secret) > 5 and secret in text]


def in_json(text: str) -> str:
    """Return a text masked inside a JSON body that escapes all but ASCII."""
    masked = json.loads(Redactor().mask(json.dumps({"a": [text], "n": 1}).encode()))
    assert masked["n"] == 1
    return masked["a"][0]


STREAMED = [
    "the password: @ is\nnot for you",
    "x\npassword: @\ny",
    '{"a": 1, "password": "@"}',
    "curl -u bob:@ https://example.invalid and more",
    "a\n<password>@</password> b",
    "Authorization: Token @\nnext",
    "two: password='@' and secret = \"@\" here",
]


SIZES = (1, 2, 3, 7)


def cut(text: str, size: int) -> list[str]:
    """Cut a text into pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def delta(text: str, index: int = 0) -> dict[str, object]:
    """Return an event of a model's stream."""
    return {"id": "c-1", "object": "chunk", "choices": [{"index": index, "delta": {"content": text}}]}


def masked_in_json(text: str) -> str:
    """Return a text masked inside a JSON body in UTF-8."""
    value = json.loads(Redactor().mask(msgspec.json.encode({"a": [text]})))["a"][0]
    assert isinstance(value, str)
    return value
