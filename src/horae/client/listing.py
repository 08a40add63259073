"""The source of lists: the database, or a replica of it."""

from copy import copy
from typing import Self

from horae.storage.engine import Reads


class ListsFrom:
    """The lists of a client, which may be read from a replica."""

    _reads: Reads

    def listing_from(self, reads: Reads) -> Self:
        """Return a copy whose lists are read from `reads`; all else stays on the database."""
        twin = copy(self)
        twin._reads = reads  # noqa: SLF001 - its own
        return twin
