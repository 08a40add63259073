"""How the help shows texts, and names the values of options: `N`, `TIME`, and nothing for a flag.

Texts are shown as they are written: Typer would take `[text]` for a style and leave it out.
"""

from functools import partial
from typing import Any

import typer
from rich.markup import escape


def name_values(command: Any) -> None:
    """Show texts as they are written, and no Python types such as `<bool>`.

    This is for the help of a command and its subcommands.
    """
    for each in getattr(command, "commands", {}).values():
        name_values(each)
    command.help = escape(command.help or "")
    for parameter in command.get_params(typer.Context(command)):  # the command keeps `--help`, too
        name_value(parameter)


def name_value(parameter: Any) -> None:
    """Do this for one option or argument. Idempotent."""
    usual = getattr(parameter, "display_type_rich", None)
    if usual is not None and not isinstance(usual, partial):
        parameter.display_type_rich = partial(_display_type, parameter, usual)
        parameter.help = escape(getattr(parameter, "help", None) or "")


def _display_type(parameter: Any, usual: Any, ctx: Any) -> str | None:
    if parameter.param_type_name == "argument" or getattr(parameter, "is_flag", False):
        return None  # the column before names an argument
    text = str(usual(ctx) or "")
    return "N" if text.startswith("<int") else text.strip("<>")
