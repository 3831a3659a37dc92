from tests.agents.footprint import left

SCHEMA = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}


def run(town):
    left("zip_code")
    return {"town": town, "zip": 53111}
