"""Makes text from the database harmless to a terminal."""


def printable(text: str) -> str:
    """Escape control characters, so that no escape sequence reaches a terminal."""
    return "".join(each if each.isprintable() or each in "\n\t" else repr(each)[1:-1] for each in text)
