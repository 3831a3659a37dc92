"""Exceptions that a library makes in C."""

from __future__ import annotations

import pydantic
import pydantic_core
import pytest

from autochron.envelope.codec import decode, encode


class Order(pydantic.BaseModel):
    quantity: int
    name: str = "a"

    @pydantic.field_validator("name")
    @classmethod
    def check(cls, name: str) -> str:
        if name == "custom":
            raise pydantic_core.PydanticCustomError("my_type", "it is {what}", {"what": "wrong"})
        if name != "a":
            raise ValueError("not a")
        return name


@pytest.mark.parametrize("name", ["a", "b", "custom"])
def test_a_validation_error_is_raised_again(name: str) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        Order.model_validate({"quantity": "many", "name": name})
    encoded = encode(caught.value)
    assert encoded.opaque == ()
    made = decode(encoded.body)
    assert type(made) is pydantic.ValidationError
    assert str(made) == str(caught.value)
    assert made.errors()[0] == caught.value.errors()[0]


def test_one_that_cannot_be_made_is_reported() -> None:
    assert encode(pydantic_core.SchemaError("x")).opaque
