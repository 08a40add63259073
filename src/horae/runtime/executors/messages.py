"""The messages between a node and its child processes: lines of JSON, so nothing is unpickled.

- to the child: `job` (module, qualname, claim, journal, slot, log_level, log_json), `order` (order,
  detail), `end`
- from the child: `starting` (step), `ready` or `not_ready` (the texts of the failure, lacking),
  `began`, `progress` (percentage, label), `not_loaded` (the texts of the failure, lacking),
  `result` (settlement, already, unbegun, releases, memory, spoilt), `log` (lines)

`lacking`: whether the machine lacked something, such as memory, so that another attempt may
succeed. `spoilt`: whether the body could not begin, for a reason that may be the process itself.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

from horae.domain.jobs import Claim, LogLine, Settlement
from horae.errors import JobCancelled, LeaseLost, SoftTimeLimitExceeded
from horae.runtime.bodies import FinishedRun, Interrupted

Message: TypeAlias = dict[str, Any]

ORDERS: Final[Mapping[str, type[BaseException]]] = {
    "cancel": JobCancelled,
    "lease_lost": LeaseLost,
    "soft_time_limit": SoftTimeLimitExceeded,
    "interrupt": Interrupted,
}
_CLAIM: Final = TypeAdapter(Claim)
LINES: Final = TypeAdapter(list[LogLine])
SETTLEMENT: Final = TypeAdapter[Settlement | None](Settlement | None)
"""What restores each of these from a message, which has them as lists of their fields."""


def encode(kind: str, **fields: Any) -> bytes:
    """Encode a message as a line; JSON escapes the newlines within texts."""
    return json.dumps({"kind": kind, **fields}, default=datetime.isoformat).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Decode a line; raises ValueError if it is not a complete message."""
    message: Message = json.loads(line)
    return message


def claim_from_json(fields: Any) -> Claim:
    """Restore a claim from the list of its values in a message."""
    claim = _CLAIM.validate_python(fields)
    if claim.nominal_time is None:
        return claim
    # Pydantic has a class of its own for UTC.
    return claim._replace(nominal_time=claim.nominal_time.astimezone(UTC))


def order_as_json(order: BaseException) -> dict[str, Any]:
    """Convert an order to stop: its kind, and its text or the name of the user who cancelled.

    An unknown kind becomes an interruption.
    """
    kind = next((name for name, known in ORDERS.items() if isinstance(order, known)), "interrupt")
    return {"order": kind, "detail": order.by if isinstance(order, JobCancelled) else str(order)}


def order_from_json(fields: Mapping[str, Any]) -> BaseException:
    """Convert the values of `order_as_json` back to the order."""
    return ORDERS[fields["order"]](fields["detail"])


def run_as_json(run: FinishedRun) -> dict[str, Any]:
    """Convert a run that has ended.

    The exception itself is left out: the settlement contains its texts.
    """
    return {
        "settlement": run.settlement,
        "already": run.already,
        "unbegun": run.unbegun,
        "releases": run.releases,
    }


def run_from_json(claim: Claim, fields: Mapping[str, Any]) -> FinishedRun:
    """Convert the values of `run_as_json` back."""
    return FinishedRun(
        claim,
        SETTLEMENT.validate_python(fields["settlement"]),
        already=fields["already"],
        unbegun=fields["unbegun"],
        releases=fields["releases"],
    )
