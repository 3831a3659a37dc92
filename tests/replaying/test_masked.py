"""Masked values of inputs are compared by a digest with the user's key, so another secret is another input."""

import json
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.errors import MaskKeyError
from autochron.redaction.mask_key import MaskKey, mask_key
from autochron.redaction.redactor import Redactor
from tests.cli.processes import autochron, trust

RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "tools:*"\n'
SECRET = "sk-proj-4kQ9wZ7vTn2LxRb8YcJ5mHs1"
OTHER = "sk-proj-9aB3dE5fG7hJ1kL2mN4pQ6rS"
TOOLS = "def log_in(user, password):\n    return f'{user} is in'\n\ndef fetch(header):\n    return 'page'\n"
AGENT = (
    "import os\nimport tools\nprint(tools.log_in('ann', os.environ.get('PASS', 'first-secret-1')))\n"
    f"print(tools.fetch(f\"Authorization: Bearer {{os.environ.get('TOKEN', '{SECRET}')}}\"))\n"
)


def lay_out(folder, agent=AGENT, tools=TOOLS):
    (folder / "autochron.toml").write_text(RULES)
    (folder / "tools.py").write_text(tools)
    (folder / "agent.py").write_text(agent)


def exported(folder):
    assert autochron(folder, "traces", "export", "last", "t.jsonl").status == 0
    return (folder / "t.jsonl").read_text()


@pytest.fixture
def settings(tmp_path):
    return {"XDG_CONFIG_HOME": str(tmp_path / "settings")}


def test_unchanged_secrets_are_the_same_and_no_trace_contains_them(tmp_path, settings):
    lay_out(tmp_path)
    assert autochron(tmp_path, "run", "agent.py", env=settings).status == 0
    replayed = autochron(tmp_path, "replay", "last", "--strict", env=settings)
    assert replayed.said.startswith("autochron: the same: 2 crossings"), replayed.said
    written = exported(tmp_path)
    assert "first-secret-1" not in written
    assert SECRET not in written


@pytest.mark.parametrize(
    ("changed", "path"), [({"PASS": "second-secret-2"}, "password"), ({"TOKEN": OTHER}, "header")]
)
def test_another_secret_is_another_input(tmp_path, settings, changed, path):
    lay_out(tmp_path)
    autochron(tmp_path, "run", "agent.py", env=settings)
    replayed = autochron(tmp_path, "replay", "last", env={**settings, **changed})
    assert replayed.status == 1, replayed.said
    assert f"was given another input: {path}, which is masked, is another one now (input)" in replayed.said


def test_without_the_key_masked_values_are_counted_as_not_compared(tmp_path, settings):
    lay_out(tmp_path)
    autochron(tmp_path, "run", "agent.py", env=settings)
    elsewhere = {"XDG_CONFIG_HOME": str(tmp_path / "other")}
    replayed = autochron(tmp_path, "replay", "last", *trust(), env=elsewhere)
    assert replayed.status == 0
    assert "the same, except 2 values not compared" in replayed.said, replayed.said
    assert "log_in[1]: password is masked and not compared" in replayed.said
    assert "there is no key here; copy that machine's" in replayed.said
    assert autochron(tmp_path, "replay", "last", "--strict", *trust(), env=elsewhere).status == 1
    assert not (tmp_path / "other" / "autochron" / "mask.key").exists()


def test_another_key_is_reported(tmp_path, settings):
    lay_out(tmp_path)
    autochron(tmp_path, "run", "agent.py", env=settings)
    other_settings = {"AUTOCHRON_MASK_KEY": "another"}
    replayed = autochron(tmp_path, "replay", "last", *trust(), env=other_settings)
    assert "and the key here is" in replayed.said, replayed.said
    assert "the same, except 2 values not compared" in replayed.said


def test_a_key_of_the_environment_serves_two_machines(tmp_path):
    lay_out(tmp_path)
    env = {"AUTOCHRON_MASK_KEY": "shared in CI"}
    autochron(tmp_path, "run", "agent.py", env=env)
    assert autochron(tmp_path, "replay", "last", "--strict", env=env).status == 0
    assert autochron(tmp_path, "replay", "last", env={**env, "PASS": "second-secret-2"}).status == 1


def test_an_invalid_key_file_is_reported_with_its_line(tmp_path, settings):
    lay_out(tmp_path)
    autochron(tmp_path, "run", "agent.py", env=settings)
    (tmp_path / "settings" / "autochron" / "mask.key").write_text("secret")
    replayed = autochron(tmp_path, "replay", "last", env=settings)
    assert "mask.key:1: this is no key of 64 hexadecimal digits" in replayed.said, replayed.said
    assert "bad-mask-key" in replayed.said
    recorded = autochron(tmp_path, "run", "agent.py", env=settings)
    assert recorded.status == 0
    assert "bad-mask-key" in recorded.said


def test_only_the_user_can_read_the_key(tmp_path, settings):
    lay_out(tmp_path)
    autochron(tmp_path, "run", "agent.py", env=settings)
    file = tmp_path / "settings" / "autochron" / "mask.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().strip() not in exported(tmp_path)


def test_a_run_that_masks_nothing_makes_no_key(tmp_path, settings):
    lay_out(tmp_path, agent="import tools\nprint(tools.fetch('page'))\n")
    autochron(tmp_path, "run", "agent.py", env=settings)
    assert not (tmp_path / "settings" / "autochron" / "mask.key").exists()


def test_a_served_mask_that_is_passed_on_is_counted_as_not_compared(tmp_path, settings):
    tools = f"def make():\n    return {{'token': '{SECRET}'}}\n\ndef use(token):\n    return len(token)\n"
    lay_out(tmp_path, "import tools\nprint(tools.use(tools.make()['token']))\n", tools)
    autochron(tmp_path, "run", "agent.py", env=settings)
    replayed = autochron(tmp_path, "replay", "last", env=settings)
    assert "the same, except 1 value not compared" in replayed.said, replayed.said
    assert "use[1]: token is masked and not compared: a mask that was served stands there" in replayed.said


SAYS = "import os, tools\ntools.fetch('page')\nprint('token:', os.environ.get('TOKEN', '{SECRET}'))\nprint('end')\n"


def test_another_secret_in_the_output_is_another_output(tmp_path, settings):
    lay_out(tmp_path, agent=SAYS.replace("{SECRET}", SECRET))
    recorded = autochron(tmp_path, "run", "agent.py", env=settings)
    assert SECRET in recorded.text
    assert SECRET not in exported(tmp_path)
    assert autochron(tmp_path, "replay", "last", "--strict", env=settings).status == 0
    replayed = autochron(tmp_path, "replay", "last", env={**settings, "TOKEN": OTHER})
    assert replayed.status == 1, replayed.said
    assert "masked line 1 of the output has another secret in it now" in replayed.said
    elsewhere = autochron(
        tmp_path, "replay", "last", *trust(), env={"XDG_CONFIG_HOME": str(tmp_path / "other")}
    )
    assert "the same, except 1 value not compared" in elsewhere.said, elsewhere.said


def test_a_secret_that_a_served_tool_printed_is_counted_as_not_compared(tmp_path, settings):
    tools = f"def make():\n    print('{SECRET}')\n"
    lay_out(tmp_path, "import tools\ntools.make()\n", tools)
    autochron(tmp_path, "run", "agent.py", env=settings)
    replayed = autochron(tmp_path, "replay", "last", env=settings)
    assert "the same, except 1 value not compared" in replayed.said, replayed.said


def test_a_secret_in_standard_input_is_reported(tmp_path, settings):
    lay_out(tmp_path, "import tools\ntools.fetch('page')\nprint(len(input()))\n")
    recorded = autochron(tmp_path, "run", "agent.py", env=settings, stdin=f"{SECRET}\n".encode())
    assert (
        "standard input: a secret in it is masked, so a replay gives the program the mask (masked)"
        in recorded.said
    )


def test_standard_input_that_is_too_long_is_reported(tmp_path, settings):
    lay_out(tmp_path, "import sys, tools\ntools.fetch('page')\nprint(len(sys.stdin.buffer.read()))\n")
    recorded = autochron(tmp_path, "run", "agent.py", env=settings, stdin=b"x" * 5_000_000)
    assert recorded.text == "5000000\n"
    assert (
        "standard input: more was read than is kept, so a replay gives the first 4 MB of it (cut)"
        in recorded.said
    )


def test_a_settings_folder_that_cannot_be_written_breaks_neither_run_nor_replay(tmp_path):
    lay_out(tmp_path)
    (tmp_path / "file").write_text("")
    env = {"XDG_CONFIG_HOME": str(tmp_path / "file")}
    assert autochron(tmp_path, "run", "agent.py", env=env).status == 0
    replayed = autochron(tmp_path, "replay", "last", env=env)
    assert replayed.said.startswith("autochron: the same"), replayed.said


KEY = MaskKey("0", bytes(32))
REDACTOR = Redactor()
SECRETS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=12, max_size=30)
TREES = st.recursive(
    st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(TREES, SECRETS, SECRETS)
def test_digests_differ_exactly_where_secrets_differ(tree, first, second):
    def digests(secret):
        raw = json.dumps({"rest": tree, "password": secret}).encode()
        return KEY.digests(raw, REDACTOR.mask(raw))

    assert (digests(first) == digests(second)) == (first == second)
    assert "password" in digests(first)


def test_the_key_file_is_read_as_it_was_written(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "XDG_CONFIG_HOME", str(tmp_path))
    assert mask_key(create=False) is None
    key = mask_key(create=True)
    assert mask_key(create=False) == key == mask_key(create=True)
    (tmp_path / "autochron" / "mask.key").write_text("x" * 64)
    with pytest.raises(MaskKeyError, match=r"mask\.key:1: this is no key"):
        mask_key(create=True)
