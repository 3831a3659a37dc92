"""Reports of a mutation study: text, JSON, HTML, LaTeX and tests."""
