"""Cron lines for Celery's `crontab`, whose fields are sets of numbers. Pure."""

from collections.abc import Collection

HOURS, MINUTES, DAYS, MONTHS, WEEKDAYS = (
    range(24),
    range(60),
    range(1, 32),
    range(1, 13),
    range(7),
)


def field_of(values: Collection[int], allowed: range) -> str:
    """Return a field of a cron expression that means these values: `*`, `*/15`, `1-5` or a list."""
    chosen = sorted(values)
    if len(chosen) == len(allowed):
        return "*"
    for step in range(2, len(allowed)):
        if len(chosen) > 1 and chosen == list(allowed[::step]):
            return f"*/{step}"
    runs: list[list[int]] = []
    for value in chosen:
        if runs and runs[-1][-1] + 1 == value:
            runs[-1].append(value)
        else:
            runs.append([value])
    texts: list[str] = []
    for run in runs:
        texts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(value) for value in run]  # noqa: PLR2004 - "1,2" is as short as a range
    return ",".join(texts)
