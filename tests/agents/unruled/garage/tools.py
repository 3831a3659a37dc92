"""What the assistant can do. Each public function is a tool."""

from tests.agents.footprint import left

_SLOTS = ["2026-04-01 09:00", "2026-04-02 13:30"]


def free_slots(weekday: str) -> list[str]:
    left("free_slots")
    return [slot for slot in _SLOTS if weekday in _weekday(slot)]


def book_slot(slot: str, plate: str) -> dict[str, str]:
    left("book_slot")
    _SLOTS.remove(slot)
    return {"slot": slot, "plate": plate, "job": f"J{len(_SLOTS)}-{plate}"}


def _weekday(slot: str) -> str:
    return {"01": "Wednesday", "02": "Thursday"}[slot[8:10]]
