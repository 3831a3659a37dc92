"""The stock of a shop, which an agent may reserve goods from."""


class NotReserved(Exception):
    """A reservation is not possible."""


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

    def held_by(self, customer):
        """Return how many pieces a customer has reserved, of all products."""
        return sum(self.reserved.get(customer, {}).values())

    def reserve(self, customer, sku, pieces):
        """Reserve pieces of a product for a customer, up to the limit and to what is left."""
        if pieces < 1:
            raise NotReserved("at least one piece")
        if self.held_by(customer) + pieces > self.limit:
            return {"status": "refused", "sku": sku, "reason": f"no more than {self.limit} pieces a customer"}
        if pieces > self.stock.get(sku, 0):
            return {"status": "refused", "sku": sku, "reason": "not enough is left"}
        self.stock[sku] -= pieces
        held = self.reserved.setdefault(customer, {})
        held[sku] = held.get(sku, 0) + pieces
        return {"status": "reserved", "sku": sku, "pieces": pieces, "left": self.stock[sku]}
