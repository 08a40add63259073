"""Quotes what callers wrote, for the texts of errors, and finds what they may have meant."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches


def quoted(text: object, longest: int = 60) -> str:
    """Quote what a caller wrote, cut where it would drown the message."""
    if isinstance(text, str):
        written = text
    else:
        written = written_by(repr, text, f"(a {type(text).__name__})")
    short = cut(written, longest)
    return repr(short) if isinstance(text, str) else short


def cut(text: str, longest: int) -> str:
    """Return the beginning of a long text, with an ellipsis."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def written_by(write: Callable[[object], str], value: object, otherwise: str) -> str:
    """Return the `str` or the `repr` of a value, even if its class raises an error there."""
    try:
        return write(value)
    except Exception:  # noqa: BLE001 - the class of a caller may raise anything
        return otherwise


def did_you_mean(text: str, known: Iterable[str], *, prefix: str = "") -> str:
    """Return a question that names the most similar known name, after a semicolon; or no text.

    `prefix`: what all of them begin with, which makes no two of them similar.
    """
    meant = most_similar(text.removeprefix(prefix), [name.removeprefix(prefix) for name in known])
    return "" if meant is None else f"; did you mean {quoted(prefix + meant)}?"


def most_similar(text: str, known: Iterable[str]) -> str | None:
    """Return the known name that a text resembles most; None if it resembles none."""
    near = get_close_matches(text, sorted(set(known)), n=1)
    return near[0] if near else None
