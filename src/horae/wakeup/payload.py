"""Hints as short texts, each after a tag that identifies the sender or proves that it may send."""

import json
from collections.abc import Mapping
from typing import Any, Final

from horae.domain.jobs.job import JobId
from horae.wakeup.channel import Hint, HintKind

CHANNEL: Final = "horae"
"""The channel of PostgreSQL's NOTIFY."""
LARGEST_PAYLOAD: Final = 7999
"""Bytes in one notification; PostgreSQL refuses 8000."""
LARGEST_ID: Final = 2**63 - 1
"""The largest value of the column; a larger one would make a query fail."""


def encode(tag: str, hint: Hint, limit: int) -> str:
    """Encode a hint in at most `limit` ASCII characters, without its ids if they do not fit."""
    text = _text(tag, {"kind": hint.kind, "ids": hint.job_ids})
    return text if len(text) <= limit else _text(tag, {"kind": hint.kind})


def decode(text: str) -> tuple[str, Hint] | None:
    """Decode a text of `encode` to tag and hint; None for any other text, because any client may use the channel."""
    tag, _, body = text.partition(" ")
    try:
        fields: Any = json.loads(body)
        return tag, Hint(HintKind(fields["kind"]), _job_ids(fields.get("ids", [])))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _job_ids(ids: list[object]) -> tuple[JobId, ...]:
    """Check that this is a list of job ids; a string or a number raises as well."""
    return tuple(_job_id(id_) for id_ in ids)


def _job_id(value: object) -> JobId:
    if type(value) is not int or not 0 < value <= LARGEST_ID:
        raise ValueError(f"{value!r} is no job id")
    return JobId(value)


def _text(tag: str, fields: Mapping[str, Any]) -> str:
    return f"{tag} {json.dumps(fields, separators=(',', ':'))}"
