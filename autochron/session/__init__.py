"""Sessions: one recording or one replay. A session connects the other packages to each other."""
