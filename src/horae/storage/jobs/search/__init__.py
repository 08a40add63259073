"""Finding jobs by state, time, parameters, tags and text, and the noted jobs of bulk changes.

Invariant: a search reads ranges of ids in bounded pieces, so no filter can hold the database.
"""

from horae.storage.jobs.search.bulk import BulkRun, Conditions, bulk_runs
from horae.storage.jobs.search.mapped import MappedTable, is_mapped
from horae.storage.jobs.search.searching import Search

__all__ = ["BulkRun", "Conditions", "MappedTable", "Search", "bulk_runs", "is_mapped"]
