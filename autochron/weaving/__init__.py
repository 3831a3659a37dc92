"""Change code objects and callables so that they cross boundaries; knows nothing of recording."""
