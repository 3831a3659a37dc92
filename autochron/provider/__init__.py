"""Serve a model over loopback: what the tests, the incidents and the demo talk to instead of a paid one.

It speaks the wire forms that the SDKs parse (OpenAI chat completions, responses, embeddings and files,
Anthropic messages; whole and streamed, with tool calls) and is as unsteady as a real one: wording, ids,
latency and rate limits differ at each run unless a seed is given. It shares no code with the rest of
autochron, in either direction, so that neither can hide a fault of the other.

    from autochron import provider

    with provider.serve(seed=1) as p:
        OpenAI(base_url=p.url, api_key="-")
        Anthropic(base_url=p.origin, api_key="-")
        assert p.calls == 0

`python -m autochron.provider` serves the same from a shell.
"""

from autochron.provider.child import Provider, serve
from autochron.provider.errors import ProviderError, ScriptError
from autochron.provider.script import Call, Script, Step
from autochron.provider.settings import Settings, Stats

__all__ = ["Call", "Provider", "ProviderError", "Script", "ScriptError", "Settings", "Stats", "Step", "serve"]
