"""Quotes what callers wrote, for the texts of errors."""


def quoted(text: object, longest: int = 60) -> str:
    """Quote what a caller wrote, cut where it would drown the message."""
    written = text if isinstance(text, str) else _written(text)
    cut = written if len(written) <= longest else written[:longest] + "…"
    return repr(cut) if isinstance(text, str) else cut


def _written(value: object) -> str:
    """Return the `repr` of a value; that of a caller's own class may raise."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - whatever it raises
        return f"(a {type(value).__name__})"
