"""`horae why`: why a schedule did or did not run at a time."""

import re
from datetime import datetime, timedelta
from typing import Annotated, Final

import typer

from horae.app import Horae
from horae.cli.command import Answer, on_database
from horae.cli.moments import parse_moment
from horae.cli.options import Schedule
from horae.cli.printing import reference_of
from horae.domain.times import load_zone
from horae.errors import ScheduleDoesNotExist

_DAY: Final = timedelta(days=1)
_TIME_OF_DAY: Final = re.compile(r"[0-2]?[0-9]:[0-5][0-9](:[0-5][0-9])?")


@on_database
def why(
    horae: Horae,
    schedule: Schedule,
    at: Annotated[
        str | None,
        typer.Argument(
            metavar="[TIME]",
            help=(
                "ISO time, or the last such time of day (03:00), by the clock of the schedule."
                " Default: the last time that the schedule had."
            ),
        ),
    ] = None,
) -> Answer:
    """Say why a schedule did or did not run at a time.

    For a time to come, say what will happen if nothing changes.
    """
    reference = reference_of(schedule)
    try:
        found = horae.schedules.get(reference)
    except ScheduleDoesNotExist as error:
        if isinstance(reference, str):
            raise
        of_job = f"`horae jobs why {reference}` and `horae jobs show {reference}`"
        raise ScheduleDoesNotExist(reference, f"; for a job there are {of_job}") from error
    zone = found.rules.trigger.timezone
    moment = None if at is None else moment_of(at, zone, found.read_at)
    answer = horae.schedules.why(found.id, moment)
    local = answer.moment.astimezone(load_zone(zone)).isoformat(sep=" ", timespec="seconds")
    return Answer(answer, f"{answer.name} at {local}: {answer.text}")


def moment_of(text: str, zone: str, now: datetime) -> datetime:
    """Return the moment that a user means: an ISO time, or the last time that a clock showed."""
    if not _TIME_OF_DAY.fullmatch(text):
        return parse_moment(text, "TIME", zone)
    hour, rest = text.split(":", maxsplit=1)
    today = now.astimezone(load_zone(zone)).date()
    at_most = [
        parse_moment(f"{today - days * _DAY}T{hour.zfill(2)}:{rest}", "TIME", zone)
        for days in range(2)
    ]
    return next((moment for moment in at_most if moment <= now), at_most[-1])
