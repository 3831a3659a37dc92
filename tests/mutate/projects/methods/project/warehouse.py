"""The stock of a shop, which an agent may reserve goods from."""


class Warehouse:
    """One warehouse with what is left of each product and what customers have reserved."""

    def __init__(self, name, stock, limit=20):
        self.name = name
        self.stock = dict(stock)
        self.limit = limit
        self.reserved = {}

    def available(self, sku):
        """Return how many pieces of a product are left."""
        return {"sku": sku, "left": self.stock.get(sku, 0)}

    def reserve(self, customer, sku, pieces):
        """Reserve pieces of a product for a customer."""
        self.stock[sku] = self.stock.get(sku, 0) - pieces
        held = self.reserved.setdefault(customer, {})
        held[sku] = held.get(sku, 0) + pieces
        return {"status": "reserved", "sku": sku, "pieces": pieces, "left": self.stock[sku]}
