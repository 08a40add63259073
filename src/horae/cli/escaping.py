"""Makes text from the database harmless to a terminal."""


def indented(text: str) -> str:
    """Escape control characters, and indent further lines, so that none looks like a new entry."""
    return "\n    ".join(printable(text).split("\n"))


def printable(text: str) -> str:
    """Escape control characters, so that no escape sequence reaches a terminal."""
    return "".join(
        each if each.isprintable() or each in "\n\t" else repr(each)[1:-1] for each in text
    )
