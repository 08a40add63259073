"""Finds live nodes of this machine whose journals other nodes do not see."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from horae.runtime.journal import SUFFIX, Journals
from horae.runtime.liveness.identity import decode_host, is_gone
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
            and is_gone(decode_host(view.host, view.pid)) is False
            and not journals.shows(view.id)
        ):
            opened: list[Path] = []
            try:
                for descriptor in Path(f"/proc/{view.pid}/fd").iterdir():
                    with suppress(FileNotFoundError):  # it has been closed meanwhile
                        opened.append(descriptor.readlink())
            except PermissionError:  # a process of another user
                continue
            places = [str(file) for file in opened if file.name == f"{view.id}{SUFFIX}"]
            yield HiddenJournal(view, places[0] if places else None)
