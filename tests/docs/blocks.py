"""The Python blocks of a page, and how they run: from top to bottom, as if pasted into one session."""

import ast
import asyncio
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

from fastapi import FastAPI

from horae import Horae
from tests.docs.transcripts import ROOT

T = TypeVar("T")

FENCE: Final = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^\n]*?) -->\n)?"
    r"^(?P<indent> *)```python(?P<attributes>[^\n]*)\n(?P<code>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
TITLE: Final = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """A Python block. `reason` says why it does not run; `title` is the file that it belongs into."""

    page: Path
    line: int
    code: str
    title: str | None
    reason: str | None


def blocks_of(page: Path) -> list[Block]:
    """Return the Python blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start("code")) + 1,
            textwrap.dedent(found["code"]),
            title[1] if (title := TITLE.search(found["attributes"])) else None,
            found["reason"],
        )
        for found in FENCE.finditer(text)
    ]


def run_page(page: Path) -> None:
    """Run the blocks of a page in the current folder. A block with a title is a file that others can import."""
    module = ModuleType(f"page_{page.stem.replace('-', '_')}")
    sys.modules[module.__name__] = module
    files: list[str] = []
    try:
        for block in blocks_of(page):
            if block.reason is not None:
                continue
            if block.title is not None:
                Path(block.title).write_text(block.code)
                files.append(Path(block.title).stem)
            _run(block, module)
        for application in set(_of_kind(module, FastAPI)):
            asyncio.run(_serve(application))
    finally:
        for name in (module.__name__, *files):
            sys.modules.pop(name, None)
        for horae in set(_of_kind(module, Horae)):
            horae.close()


def _run(block: Block, module: ModuleType) -> None:
    # Line breaks put the code where it is in the page, so that a traceback names that line.
    source = "\n" * (block.line - 1) + block.code
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(source, str(block.page.relative_to(ROOT)), "exec", flags, dont_inherit=True)
    waiting = eval(code, module.__dict__)
    if inspect.iscoroutine(waiting):
        asyncio.run(waiting)


async def _serve(application: FastAPI) -> None:
    """Begin and end a web application: what it does at its start is in no block that runs."""
    async with application.router.lifespan_context(application):
        pass


def _of_kind(module: ModuleType, kind: type[T]) -> Iterator[T]:
    for value in vars(module).values():
        if isinstance(value, kind):
            yield value
