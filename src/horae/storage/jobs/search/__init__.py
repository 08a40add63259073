"""Finding jobs by state, time, parameters, tags and text, and the noted jobs of bulk changes.

Invariant: a search reads ranges of ids in bounded pieces, so no filter can hold the database.
"""

from horae.storage.jobs.search.bulk import BulkRun, Conditions, bulk_runs
from horae.storage.jobs.search.by_end import EndPlace, find_by_end
from horae.storage.jobs.search.conditions import Search
from horae.storage.jobs.search.mapped import MappedTable, is_mapped

__all__ = [
    "BulkRun",
    "Conditions",
    "EndPlace",
    "MappedTable",
    "Search",
    "bulk_runs",
    "find_by_end",
    "is_mapped",
]
