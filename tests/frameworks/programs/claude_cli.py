"""Stands in for Claude's command line: it speaks its stream-json protocol on standard input and output.

It asks the model at ANTHROPIC_BASE_URL, runs built-in tools itself, and has the tools of in-process servers run by the
program that started it, by control requests. Only the standard library is used, and the program that starts it is not
asked for anything else: it is run with `python -IS`.
"""

import argparse
import http.client
import itertools
import json
import os
import subprocess
import sys
from urllib.parse import urlsplit

BUILT_IN = {
    "Bash": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    "Read": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
}
SESSION = "5f8c9d2e-0000-4000-8000-000000000001"
numbers = itertools.count(1)


def parsed(words):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--mcp-config", default="{}")
    parser.add_argument("--model", default="claude-sonnet-4-5")
    parser.add_argument("--system-prompt", default="")
    parser.add_argument("--allowedTools", default="")
    parser.add_argument("--permission-mode", default="default")
    parser.add_argument("--permission-prompt-tool")
    parser.add_argument("--include-partial-messages", action="store_true")
    parser.add_argument("--max-turns", type=int, default=20)
    return parser.parse_known_args(words)[0]


def send(kind, **fields):
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def said(kind, **fields):
    """Send a message of the conversation."""
    send(kind, **fields, session_id=SESSION, uuid=f"00000000-0000-4000-8000-{next(numbers):012d}")


class Refused(Exception):
    """A tool may not run."""


class Cli:
    """One run of the command line: it reads messages and control requests until its input ends."""

    def __init__(self, options):
        self.options = options
        self.hooks = {}
        self.tools = {}
        self.messages = []
        self.interrupted = False

    # --- control requests ------------------------------------------------------------------------------------------

    def serve(self):
        for line in iter(sys.stdin.readline, ""):
            message = json.loads(line)
            if message["type"] == "control_request":
                self.answer(message)
            elif message["type"] == "user":
                self.run(message["message"]["content"])

    def answer(self, message):
        """Answer a control request of the program."""
        request, response = message["request"], {}
        if request["subtype"] == "initialize":
            self.hooks = request.get("hooks") or {}
            response = {"commands": [], "output_style": "default", "hook_on_failure_supported": True}
        elif request["subtype"] == "interrupt":
            self.interrupted = True
        elif request["subtype"] == "set_model":
            self.options.model = request["model"] or self.options.model
        elif request["subtype"] == "get_context_usage":
            response = {"totalTokens": 1234, "maxTokens": 200000}
        else:
            error = f"unsupported control request: {request['subtype']}"
            send(
                "control_response",
                response={"subtype": "error", "request_id": message["request_id"], "error": error},
            )
            return
        done = {"subtype": "success", "request_id": message["request_id"], "response": response}
        send("control_response", response=done)

    def ask(self, subtype, **fields):
        """Send a control request to the program, and wait for its answer."""
        number = f"cli-{next(numbers)}"
        send("control_request", request_id=number, request={"subtype": subtype, **fields})
        for line in iter(sys.stdin.readline, ""):
            message = json.loads(line)
            if message["type"] == "control_request":
                self.answer(message)
            elif message["type"] == "control_response" and message["response"]["request_id"] == number:
                if message["response"]["subtype"] == "error":
                    raise Refused(message["response"]["error"])
                return message["response"]["response"]
        sys.exit(0)

    # --- tools -----------------------------------------------------------------------------------------------------

    def find_tools(self):
        """Ask the servers inside the program for their tools, as an MCP client does."""
        self.tools = {name: (None, name, schema) for name, schema in BUILT_IN.items()}
        for server, config in json.loads(self.options.mcp_config).get("mcpServers", {}).items():
            if config.get("type") != "sdk":
                continue
            about = {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "cli", "version": "2"},
            }
            self.call_server(server, "initialize", about)
            self.call_server(server, "notifications/initialized", None)
            for tool in self.call_server(server, "tools/list", {})["tools"]:
                self.tools[f"mcp__{server}__{tool['name']}"] = (server, tool["name"], tool["inputSchema"])

    def call_server(self, server, method, params):
        message = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
        if not method.startswith("notifications/"):
            message["id"] = next(numbers)
        answer = self.ask("mcp_message", server_name=server, message=message)["mcp_response"]
        if "error" in answer:
            raise Refused(answer["error"]["message"])
        return answer["result"]

    def use(self, block):
        """Run a tool and return the block of its result."""
        name, given = block["name"], block["input"]
        try:
            given = self.permitted(name, given, block["id"])
            server, own_name, _ = self.tools[name]
            if server is not None:
                result = self.call_server(server, "tools/call", {"name": own_name, "arguments": given})
                content, is_error = result["content"], bool(result.get("isError"))
            else:
                content, is_error = self.run_built_in(name, given)
        except Refused as error:
            content, is_error = str(error), True
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": content}
        return {**result, "is_error": True} if is_error else result

    def permitted(self, name, given, tool_use_id):
        """Ask hooks, and then the program, whether a tool may run; return what it is given."""
        for matcher in self.hooks.get("PreToolUse") or ():
            if matcher.get("matcher") not in (None, "", name):
                continue
            for callback in matcher["hookCallbackIds"]:
                event = {"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": given}
                event |= {"session_id": SESSION, "cwd": os.getcwd(), "transcript_path": ""}
                answer = self.ask("hook_callback", callback_id=callback, input=event, tool_use_id=tool_use_id)
                decision = answer.get("hookSpecificOutput", {})
                if decision.get("permissionDecision") == "deny":
                    raise Refused(decision.get("permissionDecisionReason", "denied"))
        if self.options.permission_prompt_tool and name not in self.options.allowedTools.split(","):
            request = {
                "tool_name": name,
                "input": given,
                "tool_use_id": tool_use_id,
                "permission_suggestions": [],
            }
            answer = self.ask("can_use_tool", **request)
            if answer["behavior"] == "deny":
                raise Refused(answer["message"])
            return answer["updatedInput"]
        return given

    def run_built_in(self, name, given):
        if name == "Bash":
            done = subprocess.run(
                given["command"],
                shell=True,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            return (done.stdout + done.stderr).rstrip(), done.returncode != 0
        try:
            with open(given["file_path"], encoding="utf-8") as file:
                return file.read(), False
        except OSError as error:
            return str(error), True

    # --- the conversation ------------------------------------------------------------------------------------------

    def run(self, prompt):
        """Work on one prompt until the model asks for no tool, and send the result."""
        self.interrupted = False
        if not self.tools:
            self.find_tools()
        self.state("running")
        said("system", subtype="init", cwd=os.getcwd(), tools=[*self.tools], model=self.options.model,
             mcp_servers=[], permissionMode=self.options.permission_mode, claude_code_version="2.1.300")  # fmt: skip
        self.messages.append({"role": "user", "content": prompt})
        usage = {"input_tokens": 0, "output_tokens": 0}
        for turn in range(1, self.options.max_turns + 1):
            reply = self.complete()
            usage = {key: usage[key] + reply["usage"][key] for key in usage}
            self.messages.append({"role": "assistant", "content": reply["content"]})
            said("assistant", message=reply, parent_tool_use_id=None)
            asked = [block for block in reply["content"] if block["type"] == "tool_use"]
            if not asked or self.interrupted:
                text = "".join(block.get("text", "") for block in reply["content"])
                self.end(turn, usage, text)
                return
            results = [self.use(block) for block in asked]
            self.messages.append({"role": "user", "content": results})
            for result in results:
                said("user", message={"role": "user", "content": [result]}, parent_tool_use_id=None)
        self.end(self.options.max_turns, usage, None)

    def end(self, turns, usage, text):
        kind = "success" if text is not None else "error_max_turns"
        said("result", subtype=kind, is_error=text is None, num_turns=turns, usage=usage, duration_ms=1234,
             duration_api_ms=1000, total_cost_usd=0.0042, **({} if text is None else {"result": text}))  # fmt: skip
        self.state("idle")

    def state(self, state):
        if os.environ.get("CLAUDE_CODE_SDK_READS_SESSION_STATE") == "1":
            said("system", subtype="session_state_changed", state=state, sdk_host_only=True)

    def complete(self):
        """Ask the model for one message."""
        tools = [
            {"name": name, "description": "", "input_schema": tool[2]} for name, tool in self.tools.items()
        ]
        request = {"model": self.options.model, "max_tokens": 1024, "messages": self.messages, "tools": tools}
        if self.options.system_prompt:
            request["system"] = self.options.system_prompt
        connection = http.client.HTTPConnection(urlsplit(os.environ["ANTHROPIC_BASE_URL"]).netloc, timeout=30)
        headers = {"content-type": "application/json", "x-api-key": os.environ.get("ANTHROPIC_API_KEY", "")}
        connection.request("POST", "/v1/messages", json.dumps(request), headers)
        reply = json.loads(connection.getresponse().read())
        connection.close()
        if self.options.include_partial_messages:
            for index, block in enumerate(reply["content"]):
                if block["type"] == "text":
                    half = len(block["text"]) // 2
                    for part in (block["text"][:half], block["text"][half:]):
                        delta = {"type": "text_delta", "text": part}
                        event = {"type": "content_block_delta", "index": index, "delta": delta}
                        said("stream_event", event=event, parent_tool_use_id=None)
        return reply


if __name__ == "__main__":
    Cli(parsed(sys.argv[1:])).serve()
