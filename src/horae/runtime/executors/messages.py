"""The messages between a node and its child processes: lines of JSON, so nothing is unpickled.

- to the child: `job` (module, qualname, claim, journal, slot, log_level, log_json), `order` (order,
  detail), `end`
- from the child: `starting` (step), `ready` or `not_ready` (the texts of the failure, lacking),
  `began`, `progress` (percentage, label), `not_loaded` (the texts of the failure, lacking),
  `result` (settlement, already, unbegun, releases, memory), `log` (lines)

`lacking`: whether the machine lacked something, such as memory, so that another attempt may
succeed.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from horae.domain.jobs import AttemptOutcome, Claim, JobState, LogLine, Settlement
from horae.errors import JobCancelled, LeaseLost, SoftTimeLimitExceeded
from horae.runtime.bodies import FinishedRun, Interrupted

Message: TypeAlias = dict[str, Any]

ORDERS: Final[Mapping[str, type[BaseException]]] = {
    "cancel": JobCancelled,
    "lease_lost": LeaseLost,
    "soft_time_limit": SoftTimeLimitExceeded,
    "interrupt": Interrupted,
}


def encode(kind: str, **fields: Any) -> bytes:
    """Encode a message as a line; JSON escapes the newlines within texts."""
    return json.dumps({"kind": kind, **fields}).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Decode a line; raises ValueError if it is not a complete message."""
    message: Message = json.loads(line)
    return message


def claim_as_json(claim: Claim) -> dict[str, Any]:
    """Convert a claim to values that JSON can hold."""
    moment = claim.nominal_time
    return {**claim._asdict(), "nominal_time": None if moment is None else moment.isoformat()}


def claim_from_json(fields: Mapping[str, Any]) -> Claim:
    """Convert the values of `claim_as_json` back to the claim."""
    moment = fields["nominal_time"]
    values: dict[str, Any] = {
        **fields,
        "nominal_time": None if moment is None else datetime.fromisoformat(moment),
    }
    return Claim(**values)


def order_as_json(order: BaseException) -> dict[str, Any]:
    """Convert an order to stop: its kind, and its text or the name of the user who cancelled.

    An unknown kind becomes an interruption.
    """
    kind = next((name for name, known in ORDERS.items() if isinstance(order, known)), "interrupt")
    return {"order": kind, "detail": order.by if isinstance(order, JobCancelled) else str(order)}


def order_from_json(fields: Mapping[str, Any]) -> BaseException:
    """Convert the values of `order_as_json` back to the order."""
    return ORDERS[fields["order"]](fields["detail"])


def lines_as_json(lines: Sequence[LogLine]) -> dict[str, Any]:
    """Convert log lines to values that JSON can hold."""
    return {"lines": [{**line._asdict(), "at": line.at.timestamp()} for line in lines]}


def lines_from_json(fields: Mapping[str, Any]) -> list[LogLine]:
    """Convert the values of `lines_as_json` back."""
    given: list[dict[str, Any]] = fields["lines"]
    for line in given:
        line["at"] = datetime.fromtimestamp(line["at"], UTC)
    return [LogLine(**line) for line in given]


def run_as_json(run: FinishedRun) -> dict[str, Any]:
    """Convert a run that has ended.

    The exception itself is left out: the settlement contains its texts.
    """
    settlement = None if run.settlement is None else run.settlement._asdict()
    return {
        "settlement": settlement,
        "already": run.already,
        "unbegun": run.unbegun,
        "releases": run.releases,
    }


def run_from_json(claim: Claim, fields: Mapping[str, Any]) -> FinishedRun:
    """Convert the values of `run_as_json` back."""
    settlement, values = None, fields["settlement"]
    if values is not None:
        given: dict[str, Any] = {
            **values,
            "state": JobState(values["state"]),
            "outcome": AttemptOutcome(values["outcome"]),
        }
        settlement = Settlement(**given)
    return FinishedRun(
        claim,
        settlement,
        already=fields["already"],
        unbegun=fields["unbegun"],
        releases=fields["releases"],
    )
