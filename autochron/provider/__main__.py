"""The command: `python -m autochron.provider --port 0 --seed 7 --script f.json` prints its URL and serves."""

import argparse
import importlib.util
import sys
from collections.abc import Sequence

from autochron.provider.errors import ProviderError, ScriptError
from autochron.provider.script import Script
from autochron.provider.settings import Settings

_USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until stopped.

    Returns:
        The exit status; 2 if a package is missing, the script or a setting is invalid, or the port is taken.
    """
    options = _parser().parse_args(arguments)
    if not all(map(importlib.util.find_spec, ("starlette", "uvicorn"))):
        return _refuse(
            "the provider needs starlette and uvicorn: pip install 'autochron[provider]' (missing-extra)"
        )
    if options.grpc_port is not None and not all(map(importlib.util.find_spec, ("grpc", "xai_sdk"))):
        return _refuse(
            "the provider's gRPC server needs xai-sdk: pip install 'autochron[xai]' (missing-extra)"
        )
    # Not at the top: without these packages the command must still print the message above.
    from autochron.provider import server

    try:
        settings = Settings.from_json(sys.stdin.readline()) if options.parent else _settings(options)
        server.run(
            settings,
            options.port,
            _print_origin if options.parent else _print_url,
            options.parent,
            options.grpc_port,
        )
    except (ProviderError, ScriptError, OSError) as error:
        return _refuse(str(error))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m autochron.provider", description="Serve a model over loopback."
    )
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--grpc-port", type=int, help="serve xAI's API by gRPC, too; 0 takes a free port")
    parser.add_argument("--seed", type=int, help="makes the answers repeatable")
    parser.add_argument("--script", help="a JSON or TOML file of answers")
    parser.add_argument(
        "--latency", type=float, nargs=2, default=(0.0, 0.0), metavar=("LOW", "HIGH"), help="seconds"
    )
    parser.add_argument("--rate-limit", type=float, default=0.0, metavar="P", help="probability of a 429")
    # For `serve`: the settings are one line on standard input, and the end of standard input stops the server.
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    script = Script.load(options.script) if options.script else Script()
    low, high = options.latency
    return Settings(options.seed, script, (low, high), options.rate_limit)


def _print_origin(origin: str, grpc: str | None) -> None:
    print(origin if grpc is None else f"{origin} {grpc}", flush=True)


def _print_url(origin: str, grpc: str | None) -> None:
    _print_origin(f"{origin}/v1", grpc)


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return _USAGE_ERROR


if __name__ == "__main__":
    sys.exit(main())
