"""The group of all commands: turns errors into exit codes, accepts shared options anywhere."""

from collections.abc import Sequence
from typing import Any, Final

from typer.core import TyperGroup
from typing_extensions import override

from horae.cli.failures import failures_as_exit_codes
from horae.cli.lazy_commands import lazy_commands
from horae.cli.value_names import name_value

ANYWHERE: Final = ("--app", "--database")
END_OF_OPTIONS: Final = "--"


class HoraeGroup(TyperGroup):
    """All commands, imported when they are called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands.update(lazy_commands())

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, move_shared_options_first(args))

    @override
    def get_params(self, ctx: Any) -> list[Any]:
        found = super().get_params(ctx)
        for parameter in found:
            name_value(parameter)
        return found

    @override
    def invoke(self, ctx: Any) -> Any:
        with failures_as_exit_codes():
            return super().invoke(ctx)


def move_shared_options_first(arguments: Sequence[str]) -> list[str]:
    """Move the shared options to the front: `jobs list --app a:b` becomes `--app a:b jobs list`."""
    first: list[str] = []
    others: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument == END_OF_OPTIONS:
            others += [argument, *remaining]
        elif argument in ANYWHERE:
            first += [argument, *([value] if (value := next(remaining, None)) is not None else [])]
        elif argument.partition("=")[0] in ANYWHERE:
            first.append(argument)
        else:
            others.append(argument)
    return first + others
