from notes.skills import skill
from tests.agents.footprint import left

NOTES: dict[int, str] = {}


@skill
def write_note(text: str) -> dict:
    left("write_note")
    number = 100 + len(NOTES)
    NOTES[number] = text
    return {"note": number, "characters": len(text)}
