"""A process that has imported the SDKs and forks for each command, which saves a second of imports each time.

It reads one JSON object from each line and answers with one: `{"status": 0}`. Standard streams of a command are files.

A fork ends as one of multiprocessing does: its threads are waited for, its exit functions run and its streams flushed,
but Python doesn't take apart the 240,000 objects of the SDKs, which it shares with its parent until then: 0.8 s of copying.
"""

import atexit
import gc
import importlib
import json
import os
import signal
import sys
import threading

LIMIT = 60
"""Seconds after which a command is killed."""


def main():
    commands = os.fdopen(os.dup(0), "rb")
    answers = os.dup(1)
    for line in commands:
        command = json.loads(line)
        pid = os.fork()
        if pid == 0:
            commands.close()
            os.close(answers)
            os.setsid()
            signal.alarm(LIMIT)
            return command
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(answers, json.dumps({"status": status}).encode() + b"\n")
    os._exit(0)


def become(command):
    """Run a command in this fork, and return its exit status."""
    for descriptor, name, flags in (
        (0, "stdin", os.O_RDONLY),
        (1, "stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(command[name], flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    sys.path[0] = command["folder"]
    sys.argv = ["autochron", *command["arguments"]]
    # A command puts the objects aside that are there when its own modules are imported. In a process of its own the SDKs
    # are imported later; here they would be put aside too, and a search for their functions takes 0.4 s of a command.
    gc.freeze = lambda: None
    return importlib.import_module(command["module"]).main()


def leave(status):
    """End the fork as Python would, without taking its objects apart."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status & 0xFF)


def warm():
    """Import the modules that the SDKs import only at first use."""
    import anthropic
    import httpx
    import httpx2
    import openai

    for name in ("cli.run", "cli.replay", "matching"):
        importlib.import_module(f"autochron.{name}")
    for client in (openai.OpenAI(api_key="-"), openai.AsyncOpenAI(api_key="-")):
        for use in (client.chat.completions, client.responses, client.embeddings):
            dir(use)
    for client in (anthropic.Anthropic(api_key="-"), anthropic.AsyncAnthropic(api_key="-")):
        dir(client.messages)
    httpx.Client(trust_env=False).close()
    httpx2.Client(trust_env=False).close()


if __name__ == "__main__":
    warm()
    try:
        ended = become(main())
    except SystemExit as error:
        ended = error.code
        if not isinstance(ended, int | None):
            raise
    leave(ended or 0)
