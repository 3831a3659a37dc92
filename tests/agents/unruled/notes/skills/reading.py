from notes.skills import skill, writing
from tests.agents.footprint import left


@skill
def read_note(note: int) -> dict:
    left("read_note")
    return {"note": note, "text": writing.NOTES[note]}
