"""ReAct by text: no tool is declared, the agent reads actions from what the model writes."""

import re

from openai import OpenAI

from tests.agents.footprint import left


def wiki(term):
    left("wiki")
    return f"{term} is a river in Siberia."


ACTIONS = {"wiki": wiki}
client = OpenAI()
prompt = [{"role": "system", "content": "Write 'Action: wiki[term]' or 'Answer: ...'."},
          {"role": "user", "content": "What is the Lena?"}]
while True:
    text = client.chat.completions.create(model="gpt-4o", messages=prompt).choices[0].message.content
    prompt.append({"role": "assistant", "content": text})
    action = re.search(r"Action: (\w+)\[(.*?)\]", text)
    if not action:
        break
    prompt.append({"role": "user", "content": "Observation: " + ACTIONS[action[1]](action[2])})
print(text)
