"""`pydantic_function_tool`: the model of the arguments has the tool's name, and is no tool itself."""

from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel

from tests.agents.footprint import left


class FindRoute(BaseModel):
    """Find a route for a walk."""

    start: str
    kilometres: int


class RateRoute(BaseModel):
    route: str
    stars: int


class Walks:
    def __init__(self):
        self.ratings = {}

    def do_find(self, request):
        left("FindRoute")
        return f"{request.start} - Old Mill - {request.start}, {request.kilometres} km"

    def do_rate(self, request):
        left("RateRoute")
        self.ratings[request.route] = request.stars
        return f"{len(self.ratings)} rating for {request.route}"

    def apply(self, request):
        if isinstance(request, FindRoute):
            return self.do_find(request)
        return self.do_rate(request)


def main():
    client, walks = OpenAI(), Walks()
    tools = [pydantic_function_tool(FindRoute), pydantic_function_tool(RateRoute)]
    messages = [{"role": "user", "content": "A walk of 12 km from Otley. I give it four stars."}]
    while True:
        completion = client.chat.completions.parse(model="gpt-4o", messages=messages, tools=tools)
        message = completion.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            print(message.content)
            return
        for call in message.tool_calls:
            result = walks.apply(call.function.parsed_arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


if __name__ == "__main__":
    main()
