"""Secrets on command lines, in text and in lists: options with a secret name, short options of known programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autochron._runtime.lazy import late
from autochron.redaction.harmless_values import is_field, is_harmless
from autochron.redaction.secret_names import SecretNames
from autochron.redaction.secret_patterns import MASK

_LOGIN = ("docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane", "az", "harbor")
# Programs, their options, and the sign in a value after which its secret begins; "" where the whole value is secret.
_TABLE: tuple[tuple[str, str, str], ...] = (
    ("mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlpump mysqlsh", "-p", ""),
    ("mariadb mariadb-dump mariadb-admin mycli", "-p", ""),
    ("mongo mongosh mongodump mongorestore mongoimport mongoexport mongostat cqlsh", "-p", ""),
    ("ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami ldapcompare", "-w -s -a", ""),
    (" ".join(_LOGIN), "-p", ""),
    ("curl", "-u --user -U --proxy-user -E --cert", ":"),
    ("curl", "-b --cookie", "="),
    ("curl", "--oauth2-bearer --pass --tlspassword", ""),
    ("http https xh", "-a --auth", ":"),
    ("sshpass 7z 7za xfreerdp rdesktop", "-p", ""),
    ("redis-cli", "-a", ""),
    ("ssh-keygen", "-N -P", ""),
    ("sqlcmd bcp tsql zip unzip", "-P", ""),
    ("smbclient", "-U --user", "%"),
    ("lftp", "-u", ","),
    ("openssl", "-passin -passout -pass", ":"),
    ("openssl", "-k -K", ""),
    ("snmpget snmpwalk snmpset", "-A -X -c", ""),
    ("keytool jarsigner", "-storepass -keypass -srcstorepass -deststorepass", ""),
)


def _options() -> dict[str, dict[str, str]]:
    by_program: dict[str, dict[str, str]] = {}
    for programs, options, sign in _TABLE:
        for program in programs.split():
            by_program.setdefault(program, {}).update(dict.fromkeys(options.split(), sign))
    return by_program


_OPTIONS = _options()
_NEEDS_LOGIN = frozenset(_LOGIN)
_ATTACHED = frozenset(("-p", "-u", "-P", "-a", "-w", "-U"))
# An option after a blank, a quote or the letter of an escape.
_DASH = late(
    r"""-(?<=[\s"'nrt]-)(?:[puPUawbsEkKAXcN]|-(?:user|proxy-user|cert|cookie|oauth2|pass|tlspass|auth)"""
    r"""|pass|storepass|keypass|(?:src|dest)storepass)""",
    re.ASCII,
)
_NAMED = "|".join(sorted(map(re.escape, _OPTIONS), key=len, reverse=True))
_PROGRAM = late(rf"""(?<![\w.\-])(?:{_NAMED})(?:\.exe)?(?=[\s"'\\])""", re.ASCII)
_INSIDE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_BEHIND_PROGRAM = frozenset(" \"'\\.\t\n\r")
_WORD = late(
    r"""(?:[^\s"'\\|;&\n]|\\.|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|'[^'\n]*+(?:'|(?=\n)|\Z))++|[|;&\n]|.""", re.DOTALL
)
_ITEM = late(r"""[, \t\n]{0,20}(["'])((?:(?!\1)[^\\\n]){0,4000}+)\1([\])}]?)""", re.ASCII)
_THINGS = frozenset(
    {"cookie", "cookies", "credentials", "pass", "passwords", "pin", "pins", "secret", "secrets", "token"}
)
"""Secret names that are also common words: a string that follows one in a list need not be its value."""
_LISTED = frozenset(
    """
    required enum columns fields keys names include exclude order propertyOrdering scopes tags labels stop type types words
    """.split()  # noqa: SIM905 - a list of a line a word says no more
)
"""Names of arrays whose items are names."""


def may_be_in(text: str) -> bool:
    """Return whether raw text may hold a command line of a program in the table."""
    return has_option(text) and any(name in text and _stands(text, name) for name in _OPTIONS)


def has_option(text: str) -> bool:
    """Return whether raw text has an option whose value may be a secret."""
    return _DASH.search(text) is not None


def _stands(text: str, name: str) -> bool:
    """Return whether a program's name is a word in raw text; the letter of an escape may precede it."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if text[end : end + 1] in _BEHIND_PROGRAM and (
            start == 0 or text[start - 1] not in _INSIDE or text[max(0, start - 2)] == "\\"
        ):
            return True
        start = text.find(name, end)
    return False


def find(text: str) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the secrets of the command lines in a text."""
    if "-" not in text:
        return
    position = 0
    while (program := _PROGRAM.search(text, position)) is not None:
        words: list[str] = [program[0].removesuffix(".exe")]
        places = [program.start()]
        position = program.end()
        quote = text[position]
        if quote in "\"'" and text[places[0] - 1 : places[0]] == quote:  # a list in Python's notation
            for item in _ITEM.finditer(text, position + 1):
                position = item.end()
                words.append(item[2])
                places.append(item.start(2))
                if item[3]:
                    break
            yield from ((places[index] + start, places[index] + end) for index, start, end in of_words(words))
            continue
        for word in _WORD.finditer(text, position):
            position = word.end()
            if word[0] in "|;&\n":
                break
            if not word[0].isspace():
                words.append(word[0])
                places.append(word.start())
        for index, start, end in of_words(words):
            place, quoted = places[index], words[index]
            lead = 1 if quoted[start : start + 1] in {'"', "'"} else 0
            tail = 1 if quoted[end - 1 : end] in {'"', "'"} else 0
            yield place + start + lead, place + end - tail


def of_words(words: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Find the secrets in the words of a command line, by the options of its program.

    Yields:
        (index, start, end): the index of a word, and the bounds of the secret in it.
    """
    options: dict[str, str] = {}
    waiting: str | None = None
    for index, word in enumerate(words):
        if waiting is not None:
            if not word.startswith("-"):
                yield from _behind(index, word, 0, waiting)
            waiting = None
            continue
        program = word.rpartition("/")[2].removesuffix(".exe")
        if program in _OPTIONS:
            options = {} if program in _NEEDS_LOGIN and "login" not in words[index:] else _OPTIONS[program]
            continue
        if not options or not word.startswith("-"):
            continue
        name, equals, _ = word.partition("=")
        if word in options:
            waiting = options[word]
        elif equals and name in options and name.startswith("--"):
            yield from _behind(index, word, len(name) + 1, options[name])
        elif word[:2] in options and word[:2] in _ATTACHED and not word.startswith("--"):
            yield from _behind(index, word, 2, options[word[:2]])


def _behind(index: int, word: str, start: int, sign: str) -> Iterator[tuple[int, int, int]]:
    """Yield a word from an offset on, or from behind a sign, unless that is harmless."""
    if sign:
        at = word.find(sign, start)
        if at < 0:
            return
        start = at + 1
    if not is_harmless(word[start:]):
        yield index, start, len(word)


def mask_sequence(words: Sequence[str | None], names: SecretNames, key: str | None) -> dict[int, str]:
    """Return the strings of an array that are to be replaced: on command lines, and values after their names.

    Args:
        words: the items; None for each that is no string.
        names: the secret names.
        key: the key of the array, if any: some arrays hold only names.

    Returns:
        The masked string by index.
    """
    masked: dict[int, str] = {}
    texts = ["" if word is None else word for word in words]
    for index, start, end in of_words(texts):
        masked[index] = texts[index][:start] + MASK + texts[index][end:]
    for index in range(len(texts) - 1):
        name, value = texts[index], texts[index + 1]
        if (
            name.startswith("-")
            and _is_name(name, names)
            and value
            and not value.startswith("-")
            and not is_harmless(value)
        ):
            masked[index + 1] = MASK
    if len(texts) % 2 == 0 and key not in _LISTED and not any(text.startswith("-") for text in texts):
        for index in range(0, len(texts), 2):
            value = texts[index + 1]
            if words[index] is None or not _is_name(texts[index], names) or not value or is_harmless(value):
                continue
            if texts[index].lower() in _THINGS or is_field(value):
                continue
            if not _is_name(value, names) and (len(texts) == 2 or all(map(_reads_as_name, texts[::2]))):
                masked[index + 1] = MASK
    return masked


def _is_name(text: str, names: SecretNames) -> bool:
    return _reads_as_name(text) and text.lstrip("-") in names


def _reads_as_name(text: str) -> bool:
    return (
        0 < len(text) <= 100
        and text.replace("_", "a").replace("-", "a").replace(".", "a").replace(" ", "a").isalnum()
    )
