"""Exceptions that a library implements in C or Rust."""

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
def test_a_validation_error_is_restored(name: str) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        Order.model_validate({"quantity": "many", "name": name})
    encoded = encode(caught.value)
    assert encoded.opaque == ()
    restored = decode(encoded.body)
    assert type(restored) is pydantic.ValidationError
    assert str(restored) == str(caught.value)
    assert restored.errors()[0] == caught.value.errors()[0]


def test_an_exception_that_cannot_be_restored_is_opaque() -> None:
    assert encode(pydantic_core.SchemaError("x")).opaque
