"""Hints as short texts, each with a tag that identifies the sender or proves its right to send."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import getrandbits
from typing import Any, Final, TypeGuard

from horae.domain.jobs import JobId, NodeId
from horae.domain.storable import LARGEST_ID
from horae.wakeup.channel import Hint, HintKind

CHANNEL: Final = "horae"
"""The name of the channel for PostgreSQL's NOTIFY."""
LARGEST_PAYLOAD: Final = 7999
"""Maximum number of bytes in one notification; PostgreSQL refuses 8000."""


def encode(tag: str, hint: Hint, limit: int) -> str:
    """Encode a hint in at most `limit` ASCII characters, without its ids if they do not fit."""
    chosen = (
        {"count": hint.count, "seed": hint.seed, "busy": hint.busy} if hint.seed is not None else {}
    )
    text = _text(tag, {"kind": hint.kind, "ids": hint.job_ids, **chosen})
    return text if len(text) <= limit else _text(tag, {"kind": hint.kind})


def encode_all(tag: str, hints: Iterable[Hint]) -> list[str]:
    """Encode hints as they are sent to other processes; responding nodes are chosen at random."""
    return [encode(tag, with_seed(hint), LARGEST_PAYLOAD) for hint in hints]


def with_seed(hint: Hint) -> Hint:
    """Choose at random which nodes respond to a hint, if it tells the number of jobs."""
    if hint.kind is not HintKind.WORK or hint.count is None:
        return hint
    return replace(hint, seed=getrandbits(32))


def decode(text: str) -> tuple[str, Hint] | None:
    """Decode a text of `encode` to tag and hint; None for others, because anybody may send any."""
    if len(text) > LARGEST_PAYLOAD:
        return None
    tag, _, body = text.partition(" ")
    try:
        fields: Any = json.loads(body)
        ids = fields.get("ids", [])
        if not all(_is_number(each) and each > 0 for each in ids):
            return None
        hint = Hint(HintKind(fields["kind"]), tuple(map(JobId, ids)))
        # What decides which nodes respond counts only if it is complete.
        count, seed, busy = (fields.get(name) for name in ("count", "seed", "busy"))
        if _is_number(count) and _is_number(seed) and isinstance(busy, list):
            nodes = tuple(NodeId(str(node)) for node in busy)
            hint = replace(hint, count=max(count, 1), seed=seed, busy=nodes)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return tag, hint


def _is_number(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= LARGEST_ID


def _text(tag: str, fields: Mapping[str, Any]) -> str:
    return f"{tag} {json.dumps(fields, separators=(',', ':'))}"
