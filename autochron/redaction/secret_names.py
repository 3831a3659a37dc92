"""Secret names: which names of fields mean a secret.

A name is cut into words (`clientSecret`, `client-secret`, `CLIENT_SECRET`, `X-Client Secret` are alike). It is secret
if its last words are. So `access_token` is, and `token_count`, `max_tokens`, `cookie_policy` and `tokenizer` are not.
The word before `token` or `cookie` can take the meaning away: `next_page_token`, `eos_token`, `accept_cookies`.

Short names count if the words before them leave no doubt: `pin`, `card_pin` and `DB_PASS`, but not `gpio_pin`,
`pin_code` (a postal code in India), `boarding_pass` or `pass_rate`. Under a name whose last word is in `NUMERIC` a
number is a secret, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from autochron._runtime.lazy import late

_WORD = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# The part of a name that it is judged by: its last run of these characters. The scanner finds the same run in raw text.
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
# Words that are secret alone, or after one of these.
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
"""Last words of names under which a number is a secret, and no number that a program calculates with."""
# Words for the notation of a secret: `private_key_pem` is still a private key.
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
            "string",
            "sync",
            "text",
            "thinking",
            "unk",
        ]
    ),
    "cookie": frozenset({"fortune"}),
    "cookies": frozenset({"accept", "allow", "enable", "fortune", "use"}),
}
# Words of prose and of shells after which a short name keeps its meaning.
_PLAIN_BEFORE = frozenset(
    "a and const env export her his let my new old or our set the their var where with your".split()  # noqa: SIM905 - a list of a line a word says no more
)
_BEFORE = late(r"(\\?)([A-Za-z][\w.\-]*) \Z", re.ASCII)
_MAX_CACHED = 4096
_MOST_JUDGED = 100
"""Characters at the end of a name that are judged."""
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
"""Letters that may follow some hints in a secret name: most words with `pass` in them are like `passenger`."""


class SecretNames:
    """The names that count as secret: the built-in ones and those of a project."""

    __slots__ = ("_cache", "_own", "_words", "hints")

    def __init__(self, own_names: Iterable[str] = ()) -> None:
        """Take a project's own secret names, in addition to the built-in ones."""
        self._own = tuple(tuple(words) for name in own_names if (words := split_words(name)))
        self._cache: dict[str, bool] = {}
        self._words: dict[tuple[str, str], bool] = {}
        self.hints = (*_HINTS, *(words[-1] for words in self._own))

    def may_be_in(self, text: str) -> bool:
        """Return quickly whether a text may have a secret name; never False for a text that has one."""
        text = text.lower()
        for hint in self.hints:  # noqa: SIM110 - `any` with a generator takes twice as long
            if hint in text and (hint not in _FOLLOWERS or self.find_hint(text, hint, 0) >= 0):
                return True
        return False

    def find_hint(self, lower: str, hint: str, start: int) -> int:
        """Return the next offset of a hint that no letter of another word follows; -1 where there is none.

        Args:
            lower: lower-case text.
            hint: one of `hints`.
            start: the offset to search from.
        """
        position = lower.find(hint, start)
        after = _FOLLOWERS.get(hint)
        if after is None:
            return position
        size = len(hint)
        while position >= 0:
            sign = lower[position + size : position + size + 1]
            if sign in after or not "a" <= sign <= "z":
                return position
            position = lower.find(hint, position + size)
        return -1

    def __contains__(self, name: str) -> bool:
        """Return whether a field of that name holds a secret."""
        is_secret = self._cache.get(name)
        if is_secret is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            is_secret = self._cache[name] = self._judge(name)
        return is_secret

    def means_secret(self, before: str, word: str) -> bool:
        """Return whether a word in a text is a secret name.

        Args:
            before: some characters before the word. The word in them can change the meaning; after a backslash the name
                begins one letter later.
            word: letters, digits, dots, dashes and underscores; with blanks if several words are judged as one name.
        """
        key = (before, word)
        is_secret = self._words.get(key)
        if is_secret is None:
            if len(self._words) >= _MAX_CACHED:
                self._words.clear()
            is_secret = self._words[key] = self._judge_word(before, word)
        return is_secret

    def _judge_word(self, before: str, word: str) -> bool:
        bare = word[2:] if word.startswith("-D") else word.lstrip("-.")
        if before.endswith("\\"):
            return bare in self or bare[1:] in self or (bare[:1] == "u" and bare[5:] in self)
        previous = _BEFORE.search(before)
        if previous is None or word[0] == "-":
            return bare in self
        escape, preceding = previous.groups()
        if f"{preceding} {bare}" in self:
            return True
        if escape:  # the first letter may belong to the escape, and the preceding word begins after it
            return bare in self or f"{preceding[1:]} {bare}" in self
        if bare not in self:
            return False
        return split_words(bare)[-1] in _BEHIND and preceding.lower() in _PLAIN_BEFORE

    def _judge(self, name: str) -> bool:
        tail = _TAIL.search(name[-_MOST_JUDGED:])
        words = split_words(tail[0]) if tail else []
        if not words:
            return False
        if any(tuple(words[-len(own) :]) == own for own in self._own):
            return True
        while len(words) > 2 and words[-1] in _WRITTEN_AS:
            words.pop()
        if tuple(words[-2:]) in _SECRET_PAIRS:
            return True
        if words[-3:] == ["one", "time", "code"]:
            return True
        preceding = _BEHIND.get(words[-1])
        if preceding is not None:
            return len(words) == 1 or words[-2] in preceding
        if words[-1] not in _SECRET_WORDS:
            return False
        return len(words) < 2 or words[-2] not in _NOT_BEFORE.get(words[-1], ())


def holds_number(name: str) -> bool:
    """Return whether a number under a secret name is a secret, too: a PIN, a one-time code, a card's check digits."""
    words = split_words(name)
    return bool(words) and words[-1] in NUMERIC


def is_code_name(name: str) -> bool:
    """Return whether a name is that of a code of a few digits."""
    words = split_words(name)
    return bool(words) and words[-1] in _CODES


def split_words(name: str) -> list[str]:
    """Cut a name into lower-case words. Digits only separate words."""
    return [word.lower() for word in _WORD.findall(name)]
