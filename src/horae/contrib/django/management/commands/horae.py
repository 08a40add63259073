"""`manage.py horae`: the whole command line of Horae, for the application of this project."""

import argparse
import os
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from typing_extensions import override

APPLICATION = "horae.contrib.django:horae"


class Command(BaseCommand):
    """Runs a command of Horae; all arguments are Horae's."""

    help = "Run a command of Horae, such as `run`, `jobs` or `doctor`."
    requires_system_checks = ()

    @override
    def run_from_argv(self, argv: list[str]) -> None:
        """Run the command line and exit; `--help` is Horae's."""
        self.handle(arguments=argv[2:], exits=True)

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        """Take the arguments of `call_command`."""
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    @override
    def handle(self, *_: Any, arguments: list[str], exits: bool = False, **__: Any) -> None:
        """Run the command line."""
        from horae.cli.main import app

        os.environ.setdefault("HORAE_APP", APPLICATION)
        app(arguments, prog_name="manage.py horae", standalone_mode=exits)
