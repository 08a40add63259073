"""Turns errors of commands into a line on stderr and an exit code, never a traceback."""

import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import typer

from horae.cli.escaping import indented
from horae.cli.program_name import as_called
from horae.errors import DatabaseUnavailable, HoraeError, InvalidQuery, InvalidRequest, NotFound

DONE: Final = 0
FAILED: Final = 1
WRONG_CALL: Final = 2

TRACEBACK_VARIABLE: Final = "HORAE_TRACEBACK"
EXIT_CODES: Final[Mapping[type[HoraeError], int]] = {
    InvalidRequest: WRONG_CALL,
    NotFound: WRONG_CALL,
}
"""Exit codes by class of error; all other errors exit with `FAILED`."""

REFUSED_ADDRESS: Final = re.compile(
    # The match starts where a name starts, or a long argument would be read anew from each of its
    # characters.
    r"(?:No such command|Got unexpected extra argument).*?(?<![\w.])([A-Za-z_][\w.]*:[A-Za-z_]\w*)"
)
"""An error of Typer's about an application such as app:horae, given as an argument."""

EPILOG: Final = (
    "Exit codes: 0 success; 1 the job failed, a check found a problem, the database is unavailable,"
    " or the operation is not possible now; 2 wrong usage, or the named object does not exist."
)


def exit_code_of(error: HoraeError) -> int:
    """Return the exit code of a command that failed with `error`."""
    return next((EXIT_CODES[base] for base in type(error).__mro__ if base in EXIT_CODES), FAILED)


def complain(message: object) -> None:
    """Print an error message on stderr; below that of a query, what is wrong in it."""
    typer.echo(f"Error: {indented(as_called(str(message)))}", err=True)
    if isinstance(message, InvalidQuery):
        for line in marked(message):
            typer.echo(line, err=True)


def marked(error: InvalidQuery) -> list[str]:
    """Return the query, or its part around the wrong term, and a line that marks the term."""
    # The part fits into one line, and most of what comes before the term is left out.
    start = max(0, error.position - 1 - 40)
    shown = error.text[start : start + 76]
    if not shown.isprintable():
        return []  # its escaped form would have another length
    before = error.position - 1 - start
    length = max(1, min(error.length, len(shown) - before))
    return [f"  {shown}", f"  {' ' * before}^{'~' * (length - 1)}"]


@contextmanager
def failures_as_exit_codes() -> Generator[None]:
    """Turn an error into a line and an exit code.

    With HORAE_TRACEBACK an unexpected error also prints a traceback.
    """
    try:
        yield
    except HoraeError as error:
        hint = (
            "; run `horae doctor` to find the cause"
            if isinstance(error, DatabaseUnavailable)
            else ""
        )
        complain(f"{error}{hint}" if hint else error)
        raise typer.Exit(exit_code_of(error)) from error
    # Typer reports its own errors, and ends quietly if the reader of the output is gone.
    except (BrokenPipeError, typer.Abort):
        raise
    except Exception as error:  # a program ends with a message, whatever the error
        if hasattr(error, "exit_code"):  # an error of Typer's
            _name_application(error)
            raise
        # The imports load SQLAlchemy and Pydantic, which `--help` does without.
        from horae.redaction import error_text, traceback_text
        from horae.storage.engine.failures import DATABASE_ERRORS
        from horae.storage.operations.doctor import database_error_of

        if isinstance(error, DATABASE_ERRORS):
            complain(
                f"database error: {database_error_of(error)}; run `horae doctor` to find the cause"
            )
        else:
            if os.environ.get(TRACEBACK_VARIABLE):
                typer.echo(traceback_text(error), err=True)
            complain(
                f"unexpected error: {error_text(error)} (set {TRACEBACK_VARIABLE}=1 for the"
                " traceback)"
            )
        raise typer.Exit(FAILED) from error


def _name_application(error: Any) -> None:
    """Add that `--app` names the application, if a command has refused it as an argument."""
    if refused := REFUSED_ADDRESS.match(getattr(error, "message", "")):
        error.message = f"{error.message.rstrip('.')}. Name the application by --app {refused[1]}."
