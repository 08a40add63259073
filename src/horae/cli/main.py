"""The program `horae`: the options that all commands share, and the version.

`command_group` has the commands.
"""

import codecs
import gc
import io
import os
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Final

import typer

from horae.cli.command_group import HoraeGroup
from horae.cli.failures import EPILOG, WRONG_CALL, complain
from horae.cli.program_name import PROGRAM
from horae.domain.storable import is_storable

if TYPE_CHECKING:
    from horae.app import Horae

app = typer.Typer(
    name="horae",
    cls=HoraeGroup,
    help="Run the background work of a Python application: jobs and schedules.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback with all variables would show passwords
)


def print_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        typer.echo(f"horae {version('horae')}")
        raise typer.Exit


@app.callback()
def prepare(
    context: typer.Context,
    *,
    application: Annotated[
        str | None,
        typer.Option(
            "--app",
            envvar="HORAE_APP",
            metavar="MODULE:ATTRIBUTE",
            help=(
                "The application, such as app:horae; modules in the current directory can be"
                " imported. Default: `app` in horae.toml or [tool.horae] in pyproject.toml."
            ),
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=(
                "URL of the database. Defaults to the one in the application's code, then"
                " HORAE_DATABASE, then that of horae.toml or pyproject.toml, then"
                " sqlite:///horae.db."
            ),
        ),
    ] = None,
    shown_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Run the background work of a Python application. --app and --database may stand anywhere in a
    command.
    """
    # Loads SQLAlchemy, which `--help` does without.
    from horae.cli.context import Target

    del shown_version
    PROGRAM.set(context.info_name or "horae")
    given: Horae | None = context.obj  # by the command line of another program, such as `flask`
    context.obj = Target(application, database, given)


def open_standard_streams() -> None:
    """Open what a service manager may have closed: stdin, stdout and stderr.

    Otherwise the next connection would get the number of one of them, and whatever is written
    there.
    """
    stderr = 2
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= stderr:
        os.set_inheritable(descriptor, True)  # noqa: FBT003
    os.close(descriptor)
    for name, number in (("stdout", 1), ("stderr", stderr)):
        if getattr(sys, name) is None:
            # It stays open until the process ends
            setattr(sys, name, open(number, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


ASCII: Final = {"→": "->", "…": "...", "“": '"', "”": '"', "\N{EN DASH}": "-"}


def in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Return what replaces characters that a stream does not have, and where they end."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    signs = (ASCII.get(each, each) for each in missing)
    return "".join(signs).encode("ascii", "backslashreplace").decode("ascii"), error.end


def write_what_streams_have() -> None:
    """Let stdout and stderr replace the characters that their encoding does not have."""
    codecs.register_error("horae.in_ascii", in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="horae.in_ascii")


def main() -> None:
    """Run the program."""
    gc.disable()  # until the command is imported, which would take nearly twice as long
    open_standard_streams()
    write_what_streams_have()
    if not all(is_storable(argument) for argument in sys.argv):
        complain("an argument is not valid UTF-8 or contains a NUL character")
        sys.exit(WRONG_CALL)
    app()
