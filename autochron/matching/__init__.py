"""Match rules with a module's code, to find the definitions and calls to weave. Nothing of the module is imported or run."""
