"""No secret of the program is in any byte that is written, and everything else is unchanged (guarantee 8)."""

import base64
import json
import sqlite3

import pytest

from autochron import provider
from autochron.provider import Script, Step
from autochron.store import open_store
from tests.cli.processes import autochron, write

# Joined from parts, so that this file itself contains no secret.
_PARTS = {
    "api key": (
        "sk-proj-",
        "Zx81nQ0pLk",
        "Wm27vTbYhs",
        "93RdUcEaGf",
        "T3Blbk",
        "FJ",
        "Qw56ErTyUi",
        "OpAsDfGh12",
    ),
    "bearer": ("eyJhbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiJtYXJhIn0", ".", "S1gN4tUr3", "oFMaraAtShop"),
    "password": ("tulips", "&", "Granite-", "77x"),
    "cookie": ("s3ss10n", "-c00kie-", "qlwkejr"),
    "token": ("ghp_", "wWPw5k4aXc", "aT4fNP0UcnZwJUVF", "k6LO0pINUx"),
    "query": ("qu3ry", "-t0ken-", "zmxncbv"),
    "key body": ("MIIEowIBAAKCAQEA", "xRtYuIoPaSdFgHjK", "lZxCvBnMqWeRtYuI"),
}
SECRETS = {name: "".join(parts) for name, parts in _PARTS.items()}
DASHES = "-" * 5
PEM = f"{DASHES}BEGIN RSA PRIVATE KEY{DASHES}\n{SECRETS['key body']}\n{DASHES}END RSA PRIVATE KEY{DASHES}"

AGENT = """
import dataclasses, os, sys
import autochron

KEY, BEARER, PASSWORD, COOKIE, TOKEN, QUERY, PEM = (os.environ[f"GIVEN_{n}"] for n in range(7))

@dataclasses.dataclass
class Login:
    user: str
    password: str

class Refused(Exception):
    pass

@autochron.boundary(kind="tool")
def log_in(login, headers, max_tokens):
    return {"user": login.user, "session_token": TOKEN, "set-cookie": f"sid={COOKIE}; Path=/",
            "usage": {"prompt_tokens": 11, "completion_tokens": 22, "total_tokens": 33}, "max_tokens": max_tokens}

@autochron.boundary(kind="tool")
def fetch(url):
    raise Refused(f"{url} refused Bearer {BEARER} and {KEY}")

@autochron.boundary(kind="tool")
def read_key(path):
    return PEM

@autochron.boundary(kind="tool")
def stream(count):
    for n in range(count):
        yield {"n": n, "api_key": KEY}

answer = log_in(Login("mara", PASSWORD), {"Authorization": f"Bearer {BEARER}", "Cookie": f"sid={COOKIE}"}, 512)
print("usage", answer["usage"]["total_tokens"], answer["max_tokens"])
try:
    fetch(f"https://mara:{PASSWORD}@shop.example/orders?access_token={QUERY}&page=3")
except Refused as error:
    print("refused:", str(error)[:20])
print("key:", read_key("id_rsa").splitlines()[0])
print([item["n"] for item in stream(2)])
print(f"the key is {KEY} and the header is Authorization: Bearer {BEARER}, token {TOKEN}")
print(f"https://shop.example/?access_token={QUERY}")
print(sys.stdin.readline().strip()[:3])
"""

GIVEN = dict(zip(SECRETS, SECRETS.values(), strict=True)) | {"pem": PEM}
ORDER = ("api key", "bearer", "password", "cookie", "token", "query", "pem")
ENV = {f"GIVEN_{number}": GIVEN[name] for number, name in enumerate(ORDER)}


def every_byte(folder):
    """Return the content of all files except the program, and the uncompressed rows and values of the store."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in {"agent.py", "autochron.toml"} and path.suffix != ".pyc":
            contents[path.name] = path.read_bytes()
    for path in folder.rglob("traces.db"):
        connection = sqlite3.connect(path)
        contents["rows"] = "\n".join(connection.iterdump()).encode("utf-8", "replace")
        connection.close()
        trace = open_store(str(path)).load("last")
        contents["values"] = repr(trace).encode()
    return contents


def assert_no_secret_in(folder, secrets=SECRETS):
    for file, data in every_byte(folder).items():
        for name, secret in secrets.items():
            for form in (secret, json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode()):
                assert form.encode() not in data, f"the {name} is in {file}"


def test_no_secret_of_a_program_reaches_the_disk(tmp_path):
    write(tmp_path, {"agent.py": AGENT})
    stdin = f"Bearer {SECRETS['bearer']} {SECRETS['api key']}\n".encode()
    result = autochron(tmp_path, "run", "agent.py", env=ENV, stdin=stdin)
    assert result.status == 0, result.said
    assert SECRETS["api key"] in result.text  # the program's own output is not masked
    assert autochron(tmp_path, "traces", "export", "last", "trace.jsonl").status == 0
    assert_no_secret_in(tmp_path)
    values = (tmp_path / "trace.jsonl").read_text()
    assert '"max_tokens":512' in values
    assert '"usage":{"prompt_tokens":11,"completion_tokens":22,"total_tokens":33}' in values
    assert "usage 33 512" in values
    assert "page=3" in values
    # The run reports the values that a replay will serve masked.
    masked = [line for line in result.said.splitlines() if "(masked)" in line]
    listed = " ".join(masked)
    for path in ("log_in: session_token", "log_in: set-cookie", "fetch: ", "read_key: "):
        assert path in listed, masked
    # Inputs are masked alike on both sides and don't differ. The masks are served as outcomes.
    for words in (("replay", "last"), ("replay", "trace.jsonl")):
        replayed = autochron(tmp_path, *words, env=ENV)
        assert replayed.status == 1  # the program prints the beginning of a value that is now a mask
        first = next(line for line in replayed.said.splitlines() if "first:" in line)
        assert "line 2 of the output was" in first
        assert "input" not in first
        assert "key: [masked]" in replayed.text
    assert_no_secret_in(tmp_path)


QUIET = """
import os
import autochron

KEY = os.environ["GIVEN_0"]

@autochron.boundary(kind="tool")
def ask(key, question, headers):
    return {"api_key": key, "answer": question.upper()}

print(ask(KEY, "why", {"Authorization": f"Bearer {KEY}"})["answer"], KEY)
"""


@pytest.mark.parametrize("key", ["api key", "token", "bearer"])
def test_a_replay_with_the_same_secrets_is_the_same(key, tmp_path):
    write(tmp_path, {"agent.py": QUIET})
    env = {"GIVEN_0": SECRETS[key]}
    result = autochron(tmp_path, "run", "agent.py", env=env)
    assert "masked in an outcome, so a replay serves the mask: ask: api_key (masked)" in result.said
    replayed = autochron(tmp_path, "replay", "last", env=env)
    assert replayed.status == 0, replayed.said
    assert replayed.said.startswith("autochron: the same: 1 crossing of trace ")
    assert_no_secret_in(tmp_path)


HTTP = """
import os, sys
from openai import OpenAI

client = OpenAI(base_url=os.environ["OPENAI_BASE_URL"], default_headers={"Cookie": "sid=" + os.environ["GIVEN_3"]},
                default_query={"api_key": os.environ["GIVEN_5"]}, max_retries=0)
reply = client.chat.completions.create(
    model="m", max_tokens=64, user="mara",
    messages=[{"role": "user", "content": "weather, please; my token is " + os.environ["GIVEN_4"]}],
    metadata={"password": os.environ["GIVEN_2"]},
)
print(reply.choices[0].message.content, reply.usage.total_tokens > 0)
"""


def test_no_secret_of_an_sdk_call_reaches_the_disk(tmp_path):
    write(tmp_path, {"agent.py": HTTP})
    step = Step(when=("weather",), text=f"fine; {SECRETS['api key']} is safe with me")
    env = {**ENV, "OPENAI_API_KEY": SECRETS["api key"]}
    with provider.serve(script=Script((step,))) as running:
        result = autochron(tmp_path, "run", "agent.py", env={**env, "OPENAI_BASE_URL": running.url})
        calls = running.calls
    assert result.status == 0, result.said
    assert calls == 1
    assert autochron(tmp_path, "traces", "export", "last", "trace.jsonl").status == 0
    assert_no_secret_in(tmp_path)
    values = (tmp_path / "trace.jsonl").read_text()
    assert '"max_tokens":64' in values
    assert "total_tokens" in values
    replayed = autochron(
        tmp_path, "replay", "last", env={**env, "OPENAI_BASE_URL": "http://nowhere.invalid/v1"}
    )
    assert replayed.text == "fine; [masked] is safe with me True\n", replayed.said
    assert "the same, except 1 value not compared: 1 crossing" in replayed.said


def test_no_secret_of_the_command_line_reaches_the_disk(tmp_path):
    write(tmp_path, {"agent.py": "import sys; print(len(sys.argv))"})
    words = (
        "--api-key",
        SECRETS["api key"],
        f"--url=https://u:{SECRETS['password']}@x.example/?token={SECRETS['query']}",
    )
    result = autochron(tmp_path, "run", "agent.py", *words, "--verbose", "--api-key=", "x=1")
    assert result.status == 0
    assert result.text == "7\n"
    assert (
        "masked in the command line, so a replay gives the program the mask: argument 2, 3; " in result.said
    )
    assert_no_secret_in(tmp_path)
    (trace,) = (
        json.loads(line)["header"] for line in autochron(tmp_path, "traces", "--json").text.splitlines()
    )
    assert trace["command"]["arguments"] == [
        "--api-key", "[masked]", "--url=https://u:[masked]@x.example/?token=[masked]", "--verbose", "--api-key=", "x=1"
    ]  # fmt: skip
