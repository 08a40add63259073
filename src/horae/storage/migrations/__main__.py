"""Draft a migration: `python -m horae.storage.migrations "Add schedules"`."""

import sys

from horae.storage.migrations.scripts import draft

if __name__ == "__main__":
    draft(" ".join(sys.argv[1:]))
