"""Names of queues, job types and schedules, and ids that other systems choose: each parsed once, by
one rule.

A name is shown in lists, logs and URLs, so it is printable. An owner or a unique key comes from
another system, which may use any character but a control character: that would break a line of a
log or steer a terminal.
"""

from functools import partial
from typing import Final

from horae.domain.storable import has_control, is_storable
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.sentences import SentenceCode

LONGEST_NAME: Final = 200
"""Characters of a name or an id: the length of the database columns."""

_NAME: Final = f"expected 1 to {LONGEST_NAME} printable characters, not only spaces"
_ID: Final = f"expected 1 to {LONGEST_NAME} characters, none of them a control character"


def foreign_id(kind: str, given: object) -> str:
    """Parse an id that another system chose, such as a unique key; `kind` names it in the error.

    Raises `InvalidRequest`.
    """
    if not isinstance(given, str) or not is_id(given):
        raise InvalidRequest(
            f"{kind} {quoted(given)}: {_ID}", SentenceCode.VALUE_ID, most=LONGEST_NAME
        )
    return given


def is_id(text: str) -> bool:
    """Return whether a text can be the id of an owner or an actor, or a unique key."""
    return 0 < len(text) <= LONGEST_NAME and is_storable(text) and not has_control(text)


def _name(kind: str, given: object) -> str:
    """Parse a name; `kind` says in the error what it is of. Raises `InvalidRequest`."""
    # Printable texts can be stored: neither NUL nor half of a surrogate pair is printable.
    if (
        not isinstance(given, str)
        or not 0 < len(given) <= LONGEST_NAME
        or not given.strip()
        or not given.isprintable()
    ):
        raise InvalidRequest(
            f"{kind} {quoted(given)}: {_NAME}", SentenceCode.VALUE_NAME, most=LONGEST_NAME
        )
    return given


queue_name: Final = partial(_name, "queue")
type_name: Final = partial(_name, "type")
schedule_name: Final = partial(_name, "schedule name")
limit_name: Final = partial(_name, "limit name")
owner_id: Final = partial(foreign_id, "owner")
