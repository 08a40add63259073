"""How the command line is called: as `horae`, or as part of another one, such as `flask horae`."""

from contextvars import ContextVar
from typing import Final

PROGRAM: Final = ContextVar("horae_program", default="horae")


def as_called(text: str) -> str:
    """Return a text that names commands as this program is called, such as `flask horae doctor`."""
    program = PROGRAM.get()
    if not program.endswith(" horae"):
        return text
    named = text.replace("`horae ", f"`{program} ")
    # Another command line knows the application.
    return named.replace(f"`{program} run module:attribute", f"`{program} run")
