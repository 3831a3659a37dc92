from refunddesk import tools


def test_an_order_is_found():
    assert tools.find_order("A17")["item"] == "teapot"
