"""A hint as a short text, behind a tag that tells whose it is."""

import json
from collections.abc import Mapping
from typing import Any, Final

from horae.domain.jobs.job import JobId
from horae.wakeup.channel import Hint, HintKind

CHANNEL: Final = "horae"
LARGEST_PAYLOAD: Final = 7999
"""Where PostgreSQL carries hints, and how many bytes it takes: it refuses 8000."""
LARGEST_ID: Final = 2**63 - 1


def encode(tag: str, hint: Hint, limit: int) -> str:
    """Write the hint in at most `limit` ASCII characters, without its ids if they do not fit."""
    text = _text(tag, {"kind": hint.kind, "ids": hint.job_ids})
    return text if len(text) <= limit else _text(tag, {"kind": hint.kind})


def decode(text: str) -> tuple[str, Hint] | None:
    """Read what `encode` wrote; None for anything else, for anybody may write to a channel."""
    tag, _, body = text.partition(" ")
    try:
        fields: Any = json.loads(body)
        return tag, Hint(HintKind(fields["kind"]), _job_ids(fields.get("ids", [])))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _job_ids(ids: list[object]) -> tuple[JobId, ...]:
    """Check what claims to be a list of ids; a string or a number fails here too."""
    return tuple(_job_id(id_) for id_ in ids)


def _job_id(value: object) -> JobId:
    if type(value) is not int or not 0 < value <= LARGEST_ID:
        raise ValueError(f"{value!r} is no job id")
    return JobId(value)


def _text(tag: str, fields: Mapping[str, Any]) -> str:
    return f"{tag} {json.dumps(fields, separators=(',', ':'))}"
