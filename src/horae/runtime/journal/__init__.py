"""The file in which a node notes which bodies it has begun; it survives a kill.

Invariant: a body is noted before its first line runs, so a job that is not noted never began.
"""

from horae.runtime.journal.files import SUFFIX, Begun, Journals
from horae.runtime.journal.journal import ChildJournal, Journal, JournalUnavailable

__all__ = ["SUFFIX", "Begun", "ChildJournal", "Journal", "JournalUnavailable", "Journals"]
