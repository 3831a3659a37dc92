"""Tool calls in a pool of threads."""

import json
from concurrent.futures import ThreadPoolExecutor

from openai import OpenAI
from tests.agents.footprint import left


def check_host(host):
    left("check_host")
    return {"host": host, "status": "down" if host.startswith("db") else "up", "latency_ms": 3 * len(host)}


def restart_service(host, service):
    left("restart_service")
    return f"{service} on {host} restarted by the agent"


TOOLS = {"check_host": check_host, "restart_service": restart_service}
DECLARED = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {field: {"type": "string"} for field in fields},
                "required": fields,
            },
        },
    }
    for name, fields in [("check_host", ["host"]), ("restart_service", ["host", "service"])]
]


def run_one(call):
    value = TOOLS[call.function.name](**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(value)}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "Check web1, web2 and db1. Restart what is down."}]
    with ThreadPoolExecutor(max_workers=3) as pool:
        for _ in range(5):
            message = (
                client.chat.completions.create(model="gpt-4o", messages=messages, tools=DECLARED)
                .choices[0]
                .message
            )
            messages.append(message)
            if not message.tool_calls:
                break
            messages += pool.map(run_one, message.tool_calls)
    print(message.content)


main()
