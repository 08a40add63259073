"""Options that several commands share: declared once, and added to the signature of each of these
commands.
"""

import inspect
from collections.abc import Callable, Sequence
from inspect import Parameter


def replace_catch_all(
    command: Callable[..., None], added: Sequence[Parameter], *, before_own: bool = False
) -> Callable[..., None]:
    """Put options in the place of `**options`, the last parameter of a command, which receives
    their values.

    `before_own`: list them in the help before the options of the command itself.
    """
    *own, catch_all = inspect.signature(command).parameters.values()
    first = (
        sum(parameter.kind is not Parameter.KEYWORD_ONLY for parameter in own)
        if before_own
        else len(own)
    )
    command.__signature__ = inspect.Signature([*own[:first], *added, *own[first:]])  # type: ignore[attr-defined]
    del command.__annotations__[catch_all.name]
    return command
