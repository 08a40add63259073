"""A small application with tables of cities, whose long-running work is done by jobs. Run it with `python -m examples.tables`."""
