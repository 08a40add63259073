"""The extension: a `Horae` that an application, also one made by a factory, is bound to."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Final, TypeAlias

import click
from flask import Flask, has_app_context
from flask.cli import NoAppException, ScriptInfo

from horae.api.security.actor import Actor
from horae.app import Horae
from horae.contrib.flask.mounting import mount, user_of_view
from horae.errors import ConfigurationError, HoraeError
from horae.settings import settings
from horae.storage.engine import SQLITE, normalised
from horae.types import JobContext

User: TypeAlias = Callable[[], Actor | str | None]
"""Returns the user of the current request: an actor, the id of one who owns jobs, or None."""

PREFIX: Final = "HORAE_"
NAME: Final = "horae"


class FlaskHorae(Horae):
    """The jobs of a Flask application.

    Declare job types on it at import, and bind the application with `init_app`. Keys of the
    application's configuration that begin with `HORAE_` are settings of Horae.
    """

    def __init__(self, database: str | None = None, **given: Any) -> None:
        """The arguments are those of `Horae`."""
        if isinstance(database, Flask):
            raise ConfigurationError("bind the application by `FlaskHorae().init_app(app)`")
        super().__init__(database, **given)
        self._given = {"database": database, **given}
        self._given.pop("authenticate", None)
        self._app: Flask | None = None
        self.around(self._in_app_context)

    def init_app(self, app: Flask, *, user: User | None = None, path: str | None = "/work") -> None:
        """Bind an application: its settings, its context for bodies, `flask horae`, and the API.

        `user` is called in the context of a request below `path` and says who its user is; without
        it, tokens of the settings do. `path`: where the HTTP API and the dashboard are; None for
        nowhere. The job types can also be declared after this call.
        """
        configured = {
            name: value
            for name, value in app.config.get_namespace(PREFIX).items()
            if value is not None
        }
        chosen = settings(**{**self._given, **configured})
        if self.opened.test is not None:
            chosen = self.opened.test.keep(chosen)
        if chosen != self.settings:
            self.close()  # a test may bind one application after the other
            self.settings = chosen
        self._app = app
        app.extensions[NAME] = self
        app.cli.add_command(self._command())
        if normalised(chosen.database).get_backend_name() == SQLITE:
            app.before_request(self._make_tables)
        if path is not None:
            if not path.startswith("/") or path.endswith("/"):
                raise ConfigurationError(f"path {path!r}: expected a path such as '/work'")
            asgi = self.asgi(user_of_view if user else None)
            mount(app, asgi, path, user, self.settings.max_body)

    def _make_tables(self) -> None:
        """Make the tables of a new SQLite file before the transaction of a view locks the file."""
        with suppress(HoraeError):  # raised again where the view uses Horae
            self.open()

    def _in_app_context(self, _job: JobContext[Any]) -> AbstractContextManager[Any]:
        """Enter the context of the application around a body."""
        if self._app is None:
            # Child processes import no more than job types, so find it as `flask` does.
            with suppress(NoAppException):
                self._app = ScriptInfo(app_import_path=os.environ.get("FLASK_APP")).load_app()
        # A job that is started with `sync=True` shares the context, and with it the session.
        if self._app is None or has_app_context():
            return nullcontext()
        return self._app.app_context()

    def _command(self) -> click.Command:
        """Return `flask horae`: the command line of Horae for this application."""

        @click.command(
            NAME,
            help="Run a command of Horae, such as `run`, `jobs` or `doctor`.",
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        )
        @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
        def command(arguments: tuple[str, ...]) -> None:
            from horae.cli.main import app  # noqa: PLC0415 - a web server needs no command line

            app(list(arguments), prog_name=f"flask {NAME}", obj=self)

        return command
