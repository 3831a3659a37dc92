"""HTTP exchanges as data, the adapters of HTTP clients, and requests to ASGI services."""
