"""The tools of an agent that heats a house."""

ROOMS = {"bath": {"low": 16, "high": 26}, "study": {"low": 15, "high": 22}}
now = {"bath": 21, "study": 19}


def temperature(room):
    return now[room]


def heat(room, degrees):
    """Set the temperature of a room."""
    now[room] = degrees
    return {"room": room, "degrees": degrees}
