"""A call by gRPC, which no rule covers unless the folder's rules do."""

import os

from xai_sdk import Client

client = Client(api_host=os.environ["XAI_API_HOST"])
print(len(client.tokenize.tokenize_text("Once upon a time", model="grok-4")))
