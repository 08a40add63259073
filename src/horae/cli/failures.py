"""How a command ends that did not do what it was asked: a line on stderr and an exit code, never a traceback."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

import typer

from horae.cli.printing.output import printable
from horae.errors import HoraeError, InvalidRequest, NotFound
from horae.redaction import error_text, traceback_text
from horae.storage.operations.doctor import complaint_of

DONE: Final = 0
FAILED: Final = 1
WRONG_CALL: Final = 2

TRACEBACK_VARIABLE: Final = "HORAE_TRACEBACK"
EXIT_CODES: Final[Mapping[type[HoraeError], int]] = {InvalidRequest: WRONG_CALL, NotFound: WRONG_CALL}
"""By class of error; every other one is `FAILED`."""

EPILOG: Final = (
    "Exit codes: 0 done; 1 the job failed, the check found something, the database cannot be used, or it is not "
    "possible now; 2 the call is wrong, or what it names does not exist."
)


def exit_code_of(error: HoraeError) -> int:
    """What a command exits with that could not be carried out."""
    return next((EXIT_CODES[base] for base in type(error).__mro__ if base in EXIT_CODES), FAILED)


def complain(message: object) -> None:
    """Say on stderr what is wrong."""
    typer.echo(f"Error: {printable(str(message))}", err=True)


def _complain_of_bug(error: Exception) -> None:
    if os.environ.get(TRACEBACK_VARIABLE):
        typer.echo(traceback_text(error), err=True)
    complain(f"this should not have happened: {error_text(error)} ({TRACEBACK_VARIABLE}=1 shows where)")


@contextmanager
def failures_as_exit_codes() -> Generator[None]:
    """Turn an error into a line and an exit code; with HORAE_TRACEBACK a bug also shows where it is."""
    try:
        yield
    except HoraeError as error:
        complain(error)
        raise typer.Exit(exit_code_of(error)) from error
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        complain("PostgreSQL needs its driver: pip install 'horae[postgres]'")
        raise typer.Exit(FAILED) from error
    except Exception as error:
        if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):  # what the program's framework says itself
            raise
        if (complaint := complaint_of(error)) is None:
            _complain_of_bug(error)
            raise typer.Exit(FAILED) from error
        complain(f"the database cannot do this: {complaint}; `horae doctor` looks for the reason")
        raise typer.Exit(FAILED) from error
