"""Which field names mean a secret.

A name is cut into words (`clientSecret`, `client-secret`, `CLIENT_SECRET`, `X-Client Secret` are alike); it
is secret when its last
words are. So `access_token` is, and `token_count`, `max_tokens`, `cookie_policy` and `tokenizer` are not.
What stands
before `token` or `cookie` can take the meaning away: `next_page_token`, `eos_token`, `accept_cookies`.

Short names count where the words before them leave no doubt: `pin`, `card_pin` and `DB_PASS`, but not `gpio_pin`,
`pin_code` (a postal code in India), `boarding_pass` or `pass_rate`. A number under one of `NUMERIC` is a secret too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from autochron._runtime.lazy import late

_WORD = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# What a name is judged by: its last run of these characters. The scanner sees the same run in raw JSON text.
_TAIL = late(r"[\w.\- ]+\Z", re.ASCII)

_SECRET_WORDS = frozenset(
    [
        "accesstoken",
        "apikey",
        "apikeys",
        "apitoken",
        "authkey",
        "authorization",
        "authtoken",
        "bearertoken",
        "clientsecret",
        "connectionstring",
        "codeverifier",
        "cookie",
        "cookies",
        "credential",
        "credentials",
        "creds",
        "cvc",
        "cvv",
        "dbpass",
        "dbpassword",
        "dbpwd",
        "idtoken",
        "jsessionid",
        "jwt",
        "mfacode",
        "mnemonic",
        "otp",
        "otpcode",
        "passcode",
        "passcodes",
        "passphrase",
        "passwd",
        "password",
        "passwords",
        "phpsessid",
        "pgpassword",
        "privatekey",
        "psk",
        "pwd",
        "refreshtoken",
        "rootpassword",
        "samlresponse",
        "secret",
        "secretaccesskey",
        "secretkey",
        "secrets",
        "sessiontoken",
        "setcookie",
        "signingkey",
        "sshpass",
        "token",
        "totp",
        "userpassword",
        "userpass",
        "webhooksecret",
        "xapikey",
    ]
)
_SECRET_PAIRS = frozenset(
    tuple(pair.split())
    for pair in """
    access key,access keys,access tokens,account key,api key,api keys,api tokens,auth header,auth key,auth
    tokens,basic auth,
    client key,connection string,encryption key,functions key,http auth,license key,master key,pass phrase,
    private key,private keys,proxy auth,recovery codes,recovery phrase,refresh tokens,secret key,secret
    keys,seed phrase,
    access code,access codes,auth code,authorization code,backup code,backup codes,
    code verifier,device code,factor code,login code,mfa code,oauth verifier,otp code,pass code,recovery code,
    reset code,saml assertion,saml response,scratch codes,security code,sms code,fa code,verification code,
    service key,session key,session tokens,shared key,signing key,signing keys,ssh key,storage
    key,subscription key
    """.replace("\n", "").split(",")
)
# Words that are secrets alone, or behind one of these.
_BESIDE_PASS = frozenset(
    """
    account admin amqp app auth basic bind broker client database db default dba email encryption ftp guest http https imap
    jdbc kafka keystore ldap login mail mailer master mongo mongodb mq mqtt my mysql new old oracle pg pop postgres postgresql
    proxy rabbitmq redis root server service sftp smb smtp sql ssh ssl sudo super sys system tls truststore user
    vnc vpn web wifi
    """.split()  # noqa: SIM905 - a list of a line a word says no more
)
_BESIDE_PIN = frozenset(
    """
    access account alarm app atm bank bt bluetooth card confirm credit current customer debit default device door gate guest
    health key keypad lock login my new old parental payment personal phone puk reset safe secret secure security sim tax
    transaction transfer unlock user vault verification voicemail
    """.split()  # noqa: SIM905 - a list of a line a word says no more
)
_BEHIND = {"pass": _BESIDE_PASS, "pin": _BESIDE_PIN, "pw": _BESIDE_PASS, "pins": _BESIDE_PIN}
_CODES = frozenset({"cvc", "cvv", "otp", "pin", "passcode", "totp", "mfacode", "otpcode"})
NUMERIC = _CODES | {"code", "passwd", "password", "pgpassword", "pwd"}
"""Last words of names under which a number is a secret and nothing that a program counts with."""
# Words that say how a secret is written down; `private_key_pem` is still a private key.
_WRITTEN_AS = frozenset({"base", "pem", "plaintext", "value"})
_NOT_BEFORE = {
    "token": frozenset(
        [
            "base",
            "bos",
            "cached",
            "cls",
            "completion",
            "continuation",
            "continue",
            "count",
            "cursor",
            "decoder",
            "design",
            "end",
            "eos",
            "erc",
            "first",
            "image",
            "input",
            "last",
            "lp",
            "mask",
            "max",
            "min",
            "new",
            "next",
            "nft",
            "output",
            "pad",
            "page",
            "pagination",
            "per",
            "position",
            "predicted",
            "prompt",
            "quote",
            "reasoning",
            "reward",
            "sample",
            "sep",
            "special",
            "start",
            "stop",
            "sync",
            "text",
            "thinking",
            "unk",
        ]
    ),
    "cookie": frozenset({"fortune"}),
    "cookies": frozenset({"accept", "allow", "enable", "fortune", "use"}),
}
# Words of prose and of shells, before which a short name keeps its meaning.
_PLAIN_BEFORE = frozenset(
    "a and const env export her his let my new old or our set the their var where with your".split()  # noqa: SIM905 - a list of a line a word says no more
)
_BEFORE = late(r"(\\?)([A-Za-z][\w.\-]*) \Z", re.ASCII)
_MAX_CACHED = 4096
_MOST_JUDGED = 100
"""Characters at the end of a name that it is judged by."""
# Each secret name has one of these in it, whatever its case.
_HINTS = (
    *(
        "token",
        "key",
        "secret",
        "auth",
        "cookie",
        "cred",
        "pw",
        "phrase",
        "sess",
        "mnemonic",
        "connection",
        "jwt",
    ),
    *("psk", "pass", "pin", "otp", "cv", "code", "saml"),
)
_FOLLOWERS = {
    hint: letters
    for letters, hints in (
        ("bcpvw", ("pass",)),
        ("sbpv", ("pin", "code")),
        ("esbpv", ("cred",)),
        ("cbpv", ("otp",)),
        ("othkbpv", ("auth",)),
        ("cv", ("cv",)),
        ("dbpv", ("pw",)),
        ("i", ("sess",)),
        ("bpv", ("psk", "jwt")),
        ("ra", ("saml",)),
    )
    for hint in hints
}
"""Letters behind some hints that are still in a secret name: most words with `pass` in them are passengers."""


class SecretNames:
    """The names that count as secret: the built-in ones and any more."""

    __slots__ = ("_cache", "_more", "_standing", "hints")

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._more = tuple(tuple(words) for name in more if (words := split_words(name)))
        self._cache: dict[str, bool] = {}
        self._standing: dict[tuple[str, str], bool] = {}
        self.hints = (*_HINTS, *(words[-1] for words in self._more))

    def may_be_in(self, text: str) -> bool:
        """Return whether a secret name may stand in a text, quickly; never wrong when it says no."""
        text = text.lower()
        for hint in self.hints:  # noqa: SIM110 - `any` with a generator takes twice as long
            if hint in text and (hint not in _FOLLOWERS or self.find_hint(text, hint, 0) >= 0):
                return True
        return False

    def find_hint(self, lower: str, hint: str, start: int) -> int:
        """Return where a hint stands next in lower-case text with nothing behind it that makes another word; -1: nowhere."""
        at = lower.find(hint, start)
        after = _FOLLOWERS.get(hint)
        if after is None:
            return at
        size = len(hint)
        while at >= 0:
            sign = lower[at + size : at + size + 1]
            if sign in after or not "a" <= sign <= "z":
                return at
            at = lower.find(hint, at + size)
        return -1

    def __contains__(self, name: str) -> bool:
        """Return whether a field of that name holds a secret."""
        found = self._cache.get(name)
        if found is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            found = self._cache[name] = self._judge(name)
        return found

    def means_secret(self, before: str, word: str) -> bool:
        """Return whether a word in a text names a secret.

        Args:
            before: some characters that stand before it: the word there can give it another meaning, and behind a backslash
                the name starts one letter later.
            word: letters, digits, dots, dashes, underscores; and blanks, where several words are judged as one name.
        """
        key = (before, word)
        found = self._standing.get(key)
        if found is None:
            if len(self._standing) >= _MAX_CACHED:
                self._standing.clear()
            found = self._standing[key] = self._judge_standing(before, word)
        return found

    def _judge_standing(self, before: str, word: str) -> bool:
        bare = word[2:] if word.startswith("-D") else word.lstrip("-.")
        if before.endswith("\\"):
            return bare in self or bare[1:] in self or (bare[:1] == "u" and bare[5:] in self)
        previous = _BEFORE.search(before)
        if previous is None or word[0] == "-":
            return bare in self
        escape, beside = previous.groups()
        if f"{beside} {bare}" in self:
            return True
        if escape:  # the first letter may be that of an escape, so that the word before is another one
            return bare in self or f"{beside[1:]} {bare}" in self
        if bare not in self:
            return False
        return split_words(bare)[-1] in _BEHIND and beside.lower() in _PLAIN_BEFORE

    def _judge(self, name: str) -> bool:
        tail = _TAIL.search(name[-_MOST_JUDGED:])
        words = split_words(tail[0]) if tail else []
        if not words:
            return False
        if any(tuple(words[-len(more) :]) == more for more in self._more):
            return True
        while len(words) > 2 and words[-1] in _WRITTEN_AS:
            words.pop()
        if tuple(words[-2:]) in _SECRET_PAIRS:
            return True
        if words[-3:] == ["one", "time", "code"]:
            return True
        beside = _BEHIND.get(words[-1])
        if beside is not None:
            return len(words) == 1 or words[-2] in beside
        if words[-1] not in _SECRET_WORDS:
            return False
        return len(words) < 2 or words[-2] not in _NOT_BEFORE.get(words[-1], ())


def holds_number(name: str) -> bool:
    """Return whether a number under a secret name is a secret as well: a PIN, a one-time code, a card's check digits."""
    words = split_words(name)
    return bool(words) and words[-1] in NUMERIC


def is_code_name(name: str) -> bool:
    """Return whether a name is that of a code of a few digits."""
    words = split_words(name)
    return bool(words) and words[-1] in _CODES


def split_words(name: str) -> list[str]:
    """Cut a name into lower-case words; digits only part them."""
    return [word.lower() for word in _WORD.findall(name)]
