"""The mutation study: mutants of the tools that a cut-point test guards, and which ways of testing notice them."""
