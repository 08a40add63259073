"""What a command works on: an application, or a database alone."""

import getpass
import os
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import typer

from horae.app import Horae
from horae.cli.loading import load
from horae.client.changes import COMMAND_LINE, Caller, attributed_to, this_host
from horae.errors import ConfigurationError, NotFound
from horae.storage.engine.database import normalised
from horae.storage.engine.dialect import SQLITE


class Target:
    """The application or the database that was named; nothing is loaded or opened before a command needs it.

    What the call names wins over what the application's code says, and that over `HORAE_DATABASE`.
    """

    def __init__(self, app: str | None = None, database: str | None = None) -> None:
        self.app = app
        self._database = database

    @cached_property
    def horae(self) -> Horae:
        """The application, or one without job types on the database; raises `ConfigurationError`."""
        return Horae(self._database) if self.app is None else self.load(self.app)

    @property
    def application(self) -> Horae:
        """The application, for commands that need its job types; raises `ConfigurationError`."""
        if self.app is None:
            raise ConfigurationError("this needs the job types of an application: name it with --app or HORAE_APP")
        return self.horae

    @property
    def existing(self) -> Horae:
        """The same as `horae`, for commands that must not create a SQLite file; raises `NotFound` without one."""
        if (file := missing_file(self.horae.settings.database)) is not None:
            raise NotFound(
                f"there is no database file {file}; name the database with --database or HORAE_DATABASE "
                "(`horae run`, the first job or `horae migrate up` creates it)"
            )
        return self.horae

    def load(self, reference: str) -> Horae:
        """The application of this name, on the database that the call named."""
        horae = load(reference)
        if self._database is not None:
            horae.close()  # an application whose module has used its database already would go on with that one
            horae.settings = horae.settings.model_copy(update={"database": self._database})
        return horae

    def close(self) -> None:
        """Send the hints that wait, close connections."""
        if "horae" in vars(self):
            self.horae.close()


def target_of(context: typer.Context) -> Target:
    """What this command works on."""
    target = context.find_object(Target)
    if target is None:
        raise ConfigurationError("this command belongs to `horae`")
    return target


@contextmanager
def opened(context: typer.Context) -> Generator[Horae]:
    """The application on a database that exists, closed after the block, so that no hint is lost.

    What is changed within the block is recorded as changed by who runs the command.
    """
    target = target_of(context)
    try:
        with attributed_to(Caller(operator(), COMMAND_LINE)):
            yield target.existing
    finally:
        target.close()


def operator() -> str:
    """Who runs this command, such as `ada@workstation`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for it
        user = f"user {os.getuid()}"
    return f"{user}@{this_host()}"


def missing_file(database: str) -> Path | None:
    """The SQLite file, if that is what the URL names and it does not exist; raises `ConfigurationError`."""
    url = normalised(database)
    if url.get_backend_name() != SQLITE or (url.database or "").startswith("file:"):
        return None
    file = Path(url.database or "")
    return None if file.exists() else file
