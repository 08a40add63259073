"""The application's own code, which does not change when it moves."""


class ShopAway(ConnectionError):
    """The mail server does not answer."""


sent: list[str] = []


def invoice_text(order: int) -> str:
    return f"invoice of order {order}"


def send(text: str) -> str:
    sent.append(text)
    return text


def old_carts(days: int) -> int:
    return 7 * days
