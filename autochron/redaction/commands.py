"""Secrets on command lines, in text and as lists: options by name, and the short options of well-known programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autochron._runtime.lazy import late
from autochron.redaction.harmless_values import is_field, is_harmless
from autochron.redaction.secret_names import SecretNames
from autochron.redaction.secret_patterns import MASK

_LOGIN = ("docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane", "az", "harbor")
# Programs, their options, and the sign that a value's secret stands behind, "" where all of it is one.
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
    found: dict[str, dict[str, str]] = {}
    for programs, options, sign in _TABLE:
        for program in programs.split():
            found.setdefault(program, {}).update(dict.fromkeys(options.split(), sign))
    return found


_OPTIONS = _options()
_NEEDS_LOGIN = frozenset(_LOGIN)
_ATTACHED = frozenset(("-p", "-u", "-P", "-a", "-w", "-U"))
# An option, behind a blank or a quote, or the letter of an escape.
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
"""Names that are also words: of two strings in a list one needn't name the other."""
_LISTED = frozenset(
    """
    required enum columns fields keys names include exclude order propertyOrdering scopes tags labels stop type types words
    """.split()  # noqa: SIM905 - a list of a line a word says no more
)
"""Names of arrays that hold names."""


def may_be_in(text: str) -> bool:
    """Return whether raw text may hold a command line of such a program."""
    return has_option(text) and any(name in text and _stands(text, name) for name in _OPTIONS)


def has_option(text: str) -> bool:
    """Return whether raw text has an option behind which a secret may stand."""
    return _DASH.search(text) is not None


def _stands(text: str, name: str) -> bool:
    """Return whether a name stands in raw text as a word: in front of it may be the letter of an escape."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if text[end : end + 1] in _BEHIND_PROGRAM and (
            at == 0 or text[at - 1] not in _INSIDE or text[max(0, at - 2)] == "\\"
        ):
            return True
        at = text.find(name, end)
    return False


def find(text: str, names: SecretNames) -> Iterator[tuple[int, int]]:
    """Yield where the secrets of the command lines in a text stand."""
    if "-" not in text:
        return
    at = 0
    while (program := _PROGRAM.search(text, at)) is not None:
        words: list[str] = [program[0].removesuffix(".exe")]
        places = [program.start()]
        at = program.end()
        quote = text[at]
        if quote in "\"'" and text[places[0] - 1 : places[0]] == quote:  # a list, as Python writes it
            for item in _ITEM.finditer(text, at + 1):
                at = item.end()
                words.append(item[2])
                places.append(item.start(2))
                if item[3]:
                    break
            yield from ((places[index] + start, places[index] + end) for index, start, end in of_words(words))
            continue
        for word in _WORD.finditer(text, at):
            at = word.end()
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
    """Yield the words of one command line that hold a secret by an option of its program, and where in them it stands."""
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
    """Yield a word from a place on, or from behind a sign."""
    if sign:
        at = word.find(sign, start)
        if at < 0:
            return
        start = at + 1
    if not is_harmless(word[start:]):
        yield index, start, len(word)


def mask_sequence(words: Sequence[str | None], names: SecretNames, key: str | None) -> dict[int, str]:
    """Return the strings of an array to replace: of command lines, and of names beside their values.

    Args:
        words: None stands for what is no string.
        names: the secret names.
        key: the name that the array has, if any: lists of names pair nothing.
    """
    found: dict[int, str] = {}
    given = ["" if word is None else word for word in words]
    for index, start, end in of_words(given):
        found[index] = given[index][:start] + MASK + given[index][end:]
    for index in range(len(given) - 1):
        name, value = given[index], given[index + 1]
        if (
            name.startswith("-")
            and _is_name(name, names)
            and value
            and not value.startswith("-")
            and not is_harmless(value)
        ):
            found[index + 1] = MASK
    if len(given) % 2 == 0 and key not in _LISTED and not any(name.startswith("-") for name in given):
        for index in range(0, len(given), 2):
            value = given[index + 1]
            if words[index] is None or not _is_name(given[index], names) or not value or is_harmless(value):
                continue
            if given[index].lower() in _THINGS or is_field(value):
                continue
            if value not in names and (len(given) == 2 or all(map(_reads_as_name, given[::2]))):
                found[index + 1] = MASK
    return found


def _is_name(text: str, names: SecretNames) -> bool:
    return _reads_as_name(text) and text.lstrip("-") in names


def _reads_as_name(text: str) -> bool:
    return (
        0 < len(text) <= 100
        and text.replace("_", "a").replace("-", "a").replace(".", "a").replace(" ", "a").isalnum()
    )
