"""A small application with tables of cities: what takes its time is a job. Run it with `python -m examples.tables`."""
