"""From live values to stored ones and back, and what is masked on the way."""
