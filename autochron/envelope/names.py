"""Which field names mean a secret.

A name is cut into words (`clientSecret`, `client-secret`, `CLIENT_SECRET`, `X-Client Secret` are alike); it
is secret when its last
words are. So `access_token` is, and `token_count`, `max_tokens`, `cookie_policy` and `tokenizer` are not.
What stands
before `token` or `cookie` can take the meaning away: `next_page_token`, `eos_token`, `accept_cookies`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from autochron._late import late

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
        "cookie",
        "cookies",
        "credential",
        "credentials",
        "creds",
        "idtoken",
        "jsessionid",
        "mnemonic",
        "passphrase",
        "passwd",
        "password",
        "passwords",
        "phpsessid",
        "privatekey",
        "pwd",
        "refreshtoken",
        "secret",
        "secretkey",
        "secrets",
        "sessiontoken",
        "setcookie",
        "signingkey",
        "token",
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
    service key,session key,session tokens,shared key,signing key,signing keys,ssh key,storage
    key,subscription key
    """.replace("\n", "").split(",")
)
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
_MAX_CACHED = 4096
# Each secret name has one of these in it, whatever its case.
_HINTS = (
    *("token", "key", "secret", "auth", "cookie", "cred", "passw", "pwd", "phrase"),
    *("sessid", "sessionid", "mnemonic", "connection", "recovery"),
)


class SecretNames:
    """The names that count as secret: the built-in ones and any more."""

    __slots__ = ("_cache", "_hints", "_more")

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._more = tuple(tuple(words) for name in more if (words := split_words(name)))
        self._cache: dict[str, bool] = {}
        self._hints = (*_HINTS, *(words[-1] for words in self._more))

    def may_be_in(self, text: str) -> bool:
        """Tell whether a secret name may stand in a text, quickly; never wrong when it says no."""
        text = text.lower()
        for hint in self._hints:  # noqa: SIM110 - `any` with a generator takes twice as long
            if hint in text:
                return True
        return False

    def __contains__(self, name: str) -> bool:
        """Tell whether a field of that name holds a secret."""
        found = self._cache.get(name)
        if found is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            found = self._cache[name] = self._judge(name)
        return found

    def _judge(self, name: str) -> bool:
        tail = _TAIL.search(name)
        words = split_words(tail[0]) if tail else []
        if not words:
            return False
        if any(tuple(words[-len(more) :]) == more for more in self._more):
            return True
        while len(words) > 2 and words[-1] in _WRITTEN_AS:
            words.pop()
        if tuple(words[-2:]) in _SECRET_PAIRS:
            return True
        if words[-1] not in _SECRET_WORDS:
            return False
        return len(words) < 2 or words[-2] not in _NOT_BEFORE.get(words[-1], ())


def split_words(name: str) -> list[str]:
    """Cut a name into lower-case words; digits only part them."""
    return [word.lower() for word in _WORD.findall(name)]
