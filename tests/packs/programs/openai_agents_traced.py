"""An agent whose runs are traced to a collector, which is told of them as the program ends."""

import os

from agents import Agent, Runner
from agents.tracing import set_trace_processors
from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor

collector = os.environ.get("COLLECTOR", "http://127.0.0.1:9/traces")
set_trace_processors([BatchTraceProcessor(BackendSpanExporter(endpoint=collector, max_retries=0))])


def main():
    print(Runner.run_sync(Agent(name="Poet", model="gpt-4.1-mini"), "A line.").final_output)


if __name__ == "__main__":
    main()
