"""A model provider on the loopback interface, which tests, incidents and the demo call in place of a paid one.

It has the wire forms of OpenAI (chat completions, responses, embeddings and files), Anthropic, Google, Mistral, Groq, Cohere,
Ollama and Amazon Bedrock, whole and streamed, with tool calls; and that of xAI by gRPC, where it is asked for. It is as
unsteady as a real provider: without a seed, wording and ids differ in each run. It shares no code with the rest of autochron,
so that neither can hide a defect of the other.

    from autochron import provider

    with provider.serve(seed=1, grpc=True) as p:
        OpenAI(base_url=p.url, api_key="-")
        Anthropic(base_url=p.origin, api_key="-")
        xai_sdk.Client(api_host=p.grpc, api_key="-")
        assert p.calls == 0

`python -m autochron.provider` serves the same from a shell.
"""

from autochron.provider.child import Provider, serve
from autochron.provider.errors import ProviderError, ScriptError
from autochron.provider.script import Call, Script, Step
from autochron.provider.settings import Settings, Stats

__all__ = ["Call", "Provider", "ProviderError", "Script", "ScriptError", "Settings", "Stats", "Step", "serve"]
