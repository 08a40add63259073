"""The target of a command: an application, or a database alone."""

import getpass
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property

import typer

from horae.app import Horae
from horae.cli.loading import load
from horae.client.changes import COMMAND_LINE, Caller, attributed_to, this_host
from horae.errors import ConfigurationError, NotFound
from horae.settings import unknown_variables
from horae.settings_file import find_settings_file
from horae.storage.engine import file_of, missing_file
from horae.storage.migrations import has_no_tables


class Target:
    """The application or the database of a command, loaded and opened when a command needs it.

    The database of the command line takes precedence over that in the application's code, which
    takes precedence over `HORAE_DATABASE`.
    """

    def __init__(
        self, app: str | None = None, database: str | None = None, given: Horae | None = None
    ) -> None:
        """`given`: the application for which another command line calls this one."""
        self._app = app
        self._database = database
        self.given = given if app is None else None

    @cached_property
    def apps(self) -> tuple[str, ...]:
        """Return the application of --app or HORAE_APP, else those of the file with settings."""
        if self._app is not None:
            return (self._app,)
        file = find_settings_file()
        if file is None or not file.apps:
            return ()
        folder = str(file.path.absolute().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)  # the file may lie above the working directory
        return file.apps

    @property
    def app(self) -> str | None:
        """Return the application of a command that works with one: the first that is named."""
        return next(iter(self.apps), None)

    @cached_property
    def horae(self) -> Horae:
        """Return the application, or an empty one on the database; raises `ConfigurationError`."""
        if self.given is not None:
            return self._on_database(self.given)
        for text in unknown_variables():  # `horae run` logs them
            typer.echo(f"Warning: {text}", err=True)
        return Horae(self._database) if self.app is None else self.load(self.app)

    @property
    def application(self) -> Horae:
        """Return the application, for commands that need its job types; raises
        `ConfigurationError`.
        """
        if self.given is None and self.app is None:
            raise ConfigurationError(
                "this command needs the job types of an application: name it with --app,"
                " HORAE_APP or `app` in horae.toml"
            )
        return self.horae

    @property
    def existing(self) -> Horae:
        """Return `horae`; raises `NotFound` for a SQLite file that is missing or has no tables."""
        name_it = "name the database with --database or HORAE_DATABASE"
        if self.given is None and self.app is None:
            name_it += ", or the application with --app or HORAE_APP"
        if (file := missing_file(self.horae.settings.database)) is not None:
            raise NotFound(
                f"there is no database file {file}; {name_it} (`horae run`, the first job or `horae"
                " migrate up` creates it)"
            )
        if (file := file_of(self.horae.settings.database)) is not None and has_no_tables(file):
            raise NotFound(
                f"database file {file} has no tables of Horae; {name_it} (`horae run`, the first"
                " job or `horae migrate up` creates the tables)"
            )
        return self.horae

    def do_without_application(self) -> None:
        """Let `horae` be one on the database of --database if the application cannot be loaded.

        Its code may name another database than the environment does, so no other one is taken.
        """
        try:
            _ = self.horae
        except ConfigurationError as error:
            if self.app is None:
                raise
            if self._database is None:
                raise ConfigurationError(
                    f"{error}; with --database this command does without the application"
                ) from error
            typer.echo(f"Warning: {error}; this command does without the application", err=True)
            self.horae = Horae(self._database)

    def chosen(self, reference: str | None) -> Horae:
        """Load the application that the command names, by default that of --app or HORAE_APP."""
        return self.application if reference is None else self.load(reference)

    def load(self, reference: str) -> Horae:
        """Load the application `module:attribute`, on the command line's database if any."""
        return self._on_database(load(reference))

    def _on_database(self, horae: Horae) -> Horae:
        if self._database is not None:
            horae.close()  # the module may have opened the database of its code already
            horae.settings = horae.settings.model_copy(update={"database": self._database})
        return horae

    def close(self) -> None:
        """Send pending notifications and close connections."""
        if "horae" in vars(self):
            self.horae.close()


def target_of(context: typer.Context) -> Target:
    """Return the target of this command."""
    target = context.find_object(Target)
    if target is None:
        raise ConfigurationError("this command works only below `horae`")
    return target


@contextmanager
def opened(context: typer.Context) -> Generator[Horae]:
    """Open the application on an existing database, and close it after the block.

    The audit log names the user of the command for changes within the block.
    """
    target = target_of(context)
    try:
        with attributed_to(Caller(operator(), COMMAND_LINE)):
            yield target.existing
    finally:
        target.close()


def operator() -> str:
    """Return the user of this command, such as `ada@workstation`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # the user may have no name in a container
        user = f"user {os.getuid()}"
    return f"{user}@{this_host()}"
