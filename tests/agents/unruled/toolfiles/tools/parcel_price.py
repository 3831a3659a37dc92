from tests.agents.footprint import left

SCHEMA = {
    "type": "object",
    "properties": {"zip": {"type": "integer"}, "grams": {"type": "integer"}},
    "required": ["zip", "grams"],
}


def run(zip, grams):
    left("parcel_price")
    return {"eur": round(3.99 + grams / 1000, 2), "zone": zip // 10000}
