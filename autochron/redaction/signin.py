"""Secrets in the URLs and form bodies of sign-in flows: codes, tickets, assertions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autochron._runtime.lazy import late

KEYS = frozenset({"grant_type", "redirect_uri", "code_verifier", "client_secret"})
"""Fields beside which `code` is the code of a sign-in."""
_ALWAYS = late(
    r"""(?:(?<=[?&#;\s"'])|\A)(?:code_verifier|(?:client_)?assertion|SAMLResponse|samlresponse|SAMLart|id_token_hint|logout_token"""
    r"""|(?:subject_|actor_|oauth_)token|oauth_verifier|oauth_signature|device_code|magic_link|otp|client_secret|refresh_token)"""
    r"""=([^&#\s"'<>]++)""",
    re.ASCII,
)
_SOMETIMES = ("code=", "ticket=")
_HINTS = (
    *_SOMETIMES,
    "assertion=",
    "AMLResponse=",
    "amlresponse=",
    "SAMLart=",
    "_token=",
    "_hint=",
    "verifier=",
    "signature=",
    "magic_link=",
    "otp=",
    "secret=",
)
_RUN = late(r"""[^\s"'<>`]++""")
_FLOW = late(
    r"""[?&](?:state|client_id|redirect_uri|grant_type|code_verifier|session_state|scope|iss|service|authuser)="""
    r"""|\A(?:state|client_id|redirect_uri|grant_type|code_verifier|scope|service)="""
    r"""|[/_\-.](?:callback|oauth2?|auth|login|signin|sign-in|sso|saml2?|cas|oidc|authorize|serviceValidate|proxyValidate|p3)\b""",
    re.ASCII | re.IGNORECASE,
)
_PARAMETER = late(r"""(?:(?<=[?&#])|\A)(code|ticket|state|pgtIou)=([^&#]++)""", re.ASCII)


def may_be_in(text: str) -> bool:
    """Return whether raw text may have a parameter of a sign-in."""
    return any(hint in text for hint in _HINTS)


def may_be_object(text: str) -> bool:
    """Return whether raw text may have an object that requests a token: in it the field `code` is a secret."""
    return "code" in text and ("grant_type" in text or "redirect_uri" in text)


def find(text: str) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the secrets in a text."""
    if "=" not in text:
        return
    for match in _ALWAYS.finditer(text):
        yield match.span(1)
    if not any(hint in text for hint in _SOMETIMES):
        return
    for run in _RUN.finditer(text):
        if not any(hint in run[0] for hint in _SOMETIMES) or not _FLOW.search(run[0]):
            continue
        for match in _PARAMETER.finditer(run[0]):
            yield run.start() + match.start(2), run.start() + match.end(2)
