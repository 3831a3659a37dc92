"""Draw what was recorded and replayed: text for people, JSON for programs."""
