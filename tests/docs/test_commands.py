"""Each `horae` command that a page shows exists, with its options; other tests run many of them."""

import re
import shlex
from typing import Any, Final

import pytest
from typer.main import get_command

from horae.cli.main import app
from tests.docs.transcripts import ROOT, commands_of

PROGRAM: Final = re.compile(r"(?<![\w./-])horae (?=[a-z-])([^|&;)#]*)")
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
SHOWN: Final = sorted(
    {
        found[1].replace("…", "X").partition(" > ")[0]
        for page in PAGES
        for command in commands_of(str(page.relative_to(ROOT)))
        for found in PROGRAM.finditer(command.typed)
    }
)


def parse(arguments: list[str]) -> None:
    """Parse a command as the program does, and run nothing. Raises `UsageError` of typer's click."""
    command: Any = get_command(app)
    context = command.make_context("horae", arguments)
    while hasattr(context.command, "resolve_command"):
        words = [*context._protected_args, *context.args]  # noqa: SLF001 - click parses groups in two steps
        name, found, rest = context.command.resolve_command(context, words)
        context = found.make_context(name, rest, parent=context)


def test_the_commands_are_found() -> None:
    assert len(SHOWN) > 50


@pytest.mark.parametrize("shown", SHOWN)
def test_a_command_can_be_parsed(shown: str) -> None:
    parse([word for word in shlex.split(shown) if word != "<"])


def test_a_wrong_option_is_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(["jobs", "list", "--stat", "failed"])
