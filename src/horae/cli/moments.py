"""Reads points in time as they are typed.

The module stands apart from `values.py` because `horae cron` loads no job types and no SQL.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

from horae.domain.times import load_zone
from horae.errors import InvalidRequest
from horae.quoting import quoted


def local_zone() -> str:
    """Return the IANA name of this machine's time zone, UTC if it is not known by such a name."""
    link = str(Path("/etc/localtime").resolve())
    name = os.environ.get("TZ", "").removeprefix(":") or link.partition("/zoneinfo/")[2]
    try:
        load_zone(name)
    except InvalidRequest:
        return "UTC"
    return name


def parse_moment(text: str, option: str = "--run-at", zone: str | None = None) -> datetime:
    """Parse an ISO time, by default in `zone` or else in this machine's time zone.

    Raises `InvalidRequest`.
    """
    named = None if zone is None else load_zone(zone)
    try:
        parsed = datetime.fromisoformat(text)
        if named is None:
            return parsed.astimezone()
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=named)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        example = "2026-03-29T01:30 or 2026-03-29T01:30+01:00"
        raise InvalidRequest(
            f"{option} {quoted(text)}: expected an ISO time such as {example}"
        ) from error
