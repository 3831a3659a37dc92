"""semantic-kernel: methods of plugins, which the model knows as `Plugin-function`, called by a kernel and by an agent."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "sk_lights",
        (
            Step(turn=0, calls=(_ask("Lights-get_lights"),)),
            Step(
                turn=1,
                calls=(
                    _ask("Lights-change_state", id=1, is_on=True),
                    _ask("Lights-change_state", id=2, is_on=True),
                ),
            ),
            Step(turn=2, text="The table lamp and the porch light are on."),
            Step(turn=3, calls=(_ask("Lights-get_lights"),)),
            Step(turn=4, text="All three are on."),
        ),
        (Tool("Lights-get_lights", 2), Tool("Lights-change_state", 2)),
    ),
    Case(
        "sk_menu",
        (
            Step(turn=0, text="Hello! How can I help?"),
            Step(
                turn=1,
                calls=(
                    _ask("MenuPlugin-get_specials"),
                    _ask("MenuPlugin-get_item_price", menu_item="Clam Chowder"),
                    _ask("MenuPlugin-get_item_price", menu_item="Chai Tea"),
                ),
            ),
            Step(turn=2, text="It is clam chowder; each costs $9.99."),
        ),
        (Tool("MenuPlugin-get_specials"), Tool("MenuPlugin-get_item_price", 2)),
    ),
    Case(
        "sk_experts",
        (
            Step(("Bill 12 now",), 0, calls=(_ask("Bills-look_up", number=12),)),
            Step(("Bill 12 now",), 1, "Seven euros."),
            Step(turn=0, calls=(_ask("BillingAgent-BillingAgent", messages="Bill 12 now?"),)),
            Step(turn=1, text="It is seven euros."),
        ),
        (Tool("Bills-look_up"), Tool("BillingAgent-BillingAgent", runs=0)),
    ),
)
