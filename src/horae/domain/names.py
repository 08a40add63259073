"""Names of queues, job types and schedules, and ids that other systems choose: each parsed once, by
one rule.

A name is shown in lists, logs and URLs, so it is printable. An owner or a unique key comes from
another system, which may use any character but a control character: that would break a line of a
log or steer a terminal.
"""

from typing import Final, NewType

from horae.domain.storable import has_control, is_storable
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.sentences import SentenceCode

QueueName = NewType("QueueName", str)
TypeName = NewType("TypeName", str)
ScheduleName = NewType("ScheduleName", str)
OwnerId = NewType("OwnerId", str)

LONGEST_NAME: Final = 200
"""Characters of a name or an id: the length of the database columns."""

_NAME: Final = f"expected 1 to {LONGEST_NAME} printable characters, not only spaces"
_ID: Final = f"expected 1 to {LONGEST_NAME} characters, none of them a control character"


def queue_name(given: object) -> QueueName:
    """Parse the name of a queue. Raises `InvalidRequest`."""
    return QueueName(_name("queue", given))


def type_name(given: object) -> TypeName:
    """Parse the name of a job type. Raises `InvalidRequest`."""
    return TypeName(_name("type", given))


def schedule_name(given: object) -> ScheduleName:
    """Parse the name of a schedule. Raises `InvalidRequest`."""
    return ScheduleName(_name("schedule name", given))


def limit_name(given: object) -> str:
    """Parse the name of a limit. Raises `InvalidRequest`."""
    return _name("limit name", given)


def owner_id(given: object) -> OwnerId:
    """Parse the id of an owner. Raises `InvalidRequest`."""
    return OwnerId(foreign_id("owner", given))


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
