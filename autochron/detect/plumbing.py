"""The packages that make calls on behalf of others, as data. A source that is called through one may be excused.

The sources themselves are in `catalogue`.
"""

from __future__ import annotations

from autochron.model import Category

INFRASTRUCTURE: tuple[str, ...] = (
    "_pytest",
    "_strptime",
    "agents",
    "aiohttp",
    "anthropic",
    "anyio",
    "argparse",
    "asyncio",
    "boto3",
    "botocore",
    "certifi",
    "charset_normalizer",
    "concurrent.futures",
    "cohere",
    "encodings",
    "gettext",
    "google.auth",
    "google.genai",
    "groq",
    "grpc",
    "h11",
    "h2",
    "http.client",
    "http.cookiejar",
    "http.cookies",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "importlib",
    "inspect",
    "jiter",
    "langchain",
    "langchain_anthropic",
    "langchain_core",
    "langchain_openai",
    "langgraph",
    "langsmith",
    "linecache",
    "litellm",
    "logfire",
    "logging",
    "loguru",
    "mcp",
    "mistralai",
    "multiprocessing",
    "ollama",
    "openai",
    "opentelemetry",
    "pkgutil",
    "pluggy",
    "prometheus_client",
    "pydantic_ai",
    "pydantic_graph",
    "pytest",
    "queue",
    "requests",
    "rich",
    "sched",
    "selectors",
    "sentry_sdk",
    "smolagents",
    "sniffio",
    "sqlalchemy",
    "socketserver",
    "ssl",
    "starlette",
    "structlog",
    "tenacity",
    "threading",
    "tokenize",
    "tqdm",
    "traceback",
    "trio",
    "unittest",
    "urllib3",
    "uvicorn",
    "uvloop",
    "warnings",
    "weakref",
    "websockets",
    "zipfile",
    "zipimport",
    "zoneinfo",
)
"""Packages that are plumbing: of the sources called through them, only those of `NEVER_EXCUSED` are reported."""

NEVER_EXCUSED: frozenset[Category] = frozenset({"network", "subprocess"})
"""The categories that no infrastructure excuses."""

TRANSPARENT: tuple[str, ...] = (
    "_collections_abc", "_pydantic_core", "abc", "attr", "attrs", "cattrs", "collections", "contextlib",
    "dataclasses", "enum", "functools", "itertools", "pydantic", "pydantic_core", "runpy", "typing"
)  # fmt: skip
"""Packages that read nothing of the world themselves: they call what they are passed, on behalf of their caller."""

ASKING: tuple[str, ...] = ("ctypes.util", "distro")
"""Modules that read facts of the machine, for SDKs' headers or to load a library. No source beneath them is counted."""
