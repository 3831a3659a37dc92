"""Whether a function of today's source takes the arguments that were recorded."""

import json

import pytest
from msgspec import structs

from autochron.diagnostics.recorded_sites import misfit
from tests.store.samples import CALL

METHOD = "class Bank:\n    def pay({}): pass\n"
CLASS_METHOD = "class Bank:\n    @classmethod\n    def pay({}): pass\n"
STATIC = "class Bank:\n    @staticmethod\n    def pay({}): pass\n"
INNER = "def bank():\n    def pay({}): pass\n    return pay\n"
INNER_OF_METHOD = "class Bank:\n    def pay(self):\n        def pay({}): pass\n"


@pytest.mark.parametrize(
    ("source", "qualname", "parameters", "reason"),
    [
        ("def pay({}): pass\n", "pay", "cents", None),
        ("def pay({}): pass\n", "pay", "approver, cents", "approver has no default"),
        (METHOD, "Bank.pay", "self, cents", None),
        (METHOD, "Bank.pay", "this, cents", None),
        (METHOD, "Bank.pay", "self, approver, cents", "approver has no default"),
        (CLASS_METHOD, "Bank.pay", "cls, cents", None),
        (CLASS_METHOD, "Bank.pay", "cls, approver, cents", "approver has no default"),
        (STATIC, "Bank.pay", "cents", None),
        (STATIC, "Bank.pay", "approver, cents", "approver has no default"),
        (STATIC, "Bank.pay", "*, approver, cents", "approver has no default"),
        (STATIC, "Bank.pay", "self, cents", None),  # a recording leaves it out, so it may have been given
        (INNER, "bank.<locals>.pay", "cents", None),
        (INNER, "bank.<locals>.pay", "approver, cents", "approver has no default"),
        (INNER_OF_METHOD, "Bank.pay.<locals>.pay", "approver, cents", "approver has no default"),
        (INNER_OF_METHOD, "Bank.pay.<locals>.pay", "self, cents", None),
    ],
)
def test_a_parameter_that_was_not_given_is_told(tmp_path, source, qualname, parameters, reason):
    (tmp_path / "bank.py").write_text(source.format(parameters))
    arguments = json.dumps({"cents": 5}).encode()
    envelope = structs.replace(CALL, site=f"bank.py:{qualname}", input=arguments, meta=None)
    assert misfit(str(tmp_path), envelope) == reason
