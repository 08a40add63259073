"""What the commands that measure have in common: their options, the machine, and what they print."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure

PAGE = 150
"""Columns of the output if it goes to no terminal."""


class Scaled(Protocol):
    """How much to measure by default."""

    @property
    def rounds(self) -> int: ...

    @property
    def jobs(self) -> int: ...


def parser_of(
    module: str,
    description: str | None,
    names: Collection[str],
    usual: Scaled,
    *,
    noun: str,
    quick: str,
    only: str = "measure these",
) -> argparse.ArgumentParser:
    """Return the parser of `python -m module`, which measures the named things, each a `noun`.

    `quick`, `only`: the help of these options.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample to FILE")
    parser.add_argument(
        "--only",
        action="extend",
        type=_names_among(names, noun),
        metavar="NAME[,NAME]",
        help=f"{only}: {', '.join(names)}",
    )
    parser.add_argument(
        "--rounds", type=to_positive, default=usual.rounds, help="default: %(default)s"
    )
    parser.add_argument(
        "--jobs", type=to_positive, default=usual.jobs, help="of one drain; default: %(default)s"
    )
    parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def _names_among(known: Collection[str], noun: str) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        given = text.split(",")
        for name in given:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"{name!r} is no {noun}; choose from {', '.join(known)}"
                )
        return given

    return names


def to_positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: expected 1 or more")
    return number


def page() -> Console:
    """Return where the results are printed."""
    return Console(width=None if sys.stdout.isatty() else PAGE)


def machine() -> dict[str, str]:
    """Return the conditions that are those of the day, the machine and Python."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": (
            f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}; load before: {load}"
        ),
        "python": platform.python_version(),
    }


def print_conditions(console: Console, stated: Mapping[str, str]) -> None:
    for name, value in stated.items():
        console.print(f"[dim]{name}: {value}[/dim]", highlight=False)


def write_json(file: Path | None, document: Mapping[str, Any]) -> None:
    """Write what was measured, if a file was named."""
    if file is not None:
        file.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def print_missed(console: Console, figures: Sequence[Figure]) -> bool:
    """Print each figure that breaks its budget; return whether there is one."""
    missed = [figure for figure in figures if figure.kept is False]
    for figure in missed:
        note = f" ({figure.note})" if figure.note else ""
        console.print(f"[red]falls short:[/red] {figure.shortfall}{note}", highlight=False)
    return bool(missed)


def table(figures: Sequence[Figure]) -> Table:
    result = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("benchmark", "database"):
        result.add_column(name)
    for name in ("Horae", "raw", "ratio", "budget"):
        result.add_column(name, justify="right", no_wrap=True)
    result.add_column("unit")
    result.add_column("")
    for figure in figures:
        result.add_row(*_cells(figure))
    return result


def _cells(figure: Figure) -> tuple[str, ...]:
    colour = {True: "green", False: "red", None: "default"}[figure.kept]
    ratio = "" if figure.ratio is None else f"[{colour}]{figure.ratio:.2f}[/]"
    budget = "" if figure.budget is None else f"[{colour}]{figure.budget}[/]"
    raw = "" if figure.raw is None else str(figure.raw)
    return (
        figure.name,
        figure.database,
        str(figure.horae),
        raw,
        ratio,
        budget,
        figure.unit,
        figure.note,
    )
