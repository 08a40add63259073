"""Finds live nodes of this machine whose journals other nodes do not see."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from horae.runtime.journal import SUFFIX, Journals
from horae.runtime.liveness.identity import decoded, is_gone
from horae.storage.nodes import NodeView


@dataclass(frozen=True, slots=True)
class HiddenJournal:
    """A node whose journal is not where this process looks for it; `file` is its place, if any."""

    node: NodeView
    file: str | None


def hidden_journals(journals: Journals, views: Iterable[NodeView]) -> Iterator[HiddenJournal]:
    """Yield the workers of this machine whose journals are elsewhere, or that keep none.

    Processes of other users are left out: whatever they are told, they keep folders of their own.
    """
    for view in views:
        if (
            view.is_worker
            and is_gone(decoded(view.host, view.pid)) is False
            and not journals.shows(view.id)
        ):
            try:
                yield HiddenJournal(view, _file_of(view))
            except PermissionError:
                continue


def _file_of(view: NodeView) -> str | None:
    """Return the journal that the process of a node has open.

    Raises PermissionError for one of another user.
    """
    name = f"{view.id}{SUFFIX}"
    for descriptor in Path(f"/proc/{view.pid}/fd").iterdir():
        try:
            target = os.readlink(descriptor)  # noqa: PTH115 - Path.readlink would resolve it
        except FileNotFoundError:  # the descriptor has been closed meanwhile
            continue
        if target.rpartition("/")[2] == name:
            return target
    return None
