"""Compiled statements that all databases of a process share.

SQLAlchemy keeps those of each engine apart. Each test has engines of its own, and to compile the same statements for each of
them took a large part of the time of the suite.
"""

import re
from typing import Any, Final

from sqlalchemy import Engine
from typing_extensions import override

MOST: Final = 4096
"""Statements that are kept; those that are made anew each time add one each."""

EVERY_COLUMN: Final = re.compile(r"(SELECT|,)\s+\*|\.\*")
"""What asks for the columns that a table has. They are kept with the statement, and another database may have others."""


class CompiledStatements(dict[Any, Any]):
    """SQLAlchemy's cache of compiled statements, for all engines with the same kind of dialect.

    It finds a constant statement by the identity of its key: to hash the key, which is a tree of tuples, takes a twentieth of
    the time of a simulation.
    """

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[Any, tuple[Any, Any]] = {}

    @override
    def get(self, key: Any, default: Any = None, /) -> Any:
        _dialect, tree, *others = key
        near = (id(tree), *others)
        known = self._found.get(near)
        if known is not None:  # the entry keeps the tree, so nothing else has its id
            return known[1]
        found = super().get((tree, *others), default)
        if found is not None:
            if len(self._found) >= MOST:
                self._found.clear()
            self._found[near] = tree, found
        return found

    @override
    def __setitem__(self, key: Any, compiled: Any, /) -> None:
        if EVERY_COLUMN.search(compiled.string):
            return
        if len(self) >= MOST:
            self.clear()
        _dialect, *others = key
        super().__setitem__(tuple(others), compiled)


_compiled: Final[dict[tuple[type, str], CompiledStatements]] = {}


def share_compiled_statements() -> None:
    """Let all engines of this process share what they compile."""
    setattr(Engine, "_compiled_cache", property(_statements_of, _keep_shared))  # noqa: B010 - its type is another one


def _statements_of(engine: Engine) -> CompiledStatements:
    kind = type(engine.dialect), engine.dialect.paramstyle
    if kind not in _compiled:
        _compiled[kind] = CompiledStatements()
    return _compiled[kind]


def _keep_shared(_engine: Engine, _own: object) -> None:
    """Do nothing: this is called with the cache that an engine makes for itself."""
