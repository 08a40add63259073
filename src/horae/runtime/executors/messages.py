"""What a node and its child processes say to each other: JSON over a pipe, so that no value of a job is ever unpickled.

- to the child: `job` (module, qualname, claim, journal, slot, log_level, log_json), `order` (order, word), `end`
- from the child: `ready`, `began`, `progress` (percentage, label), `performed` (outcome, fields, settled, unbegun)
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from multiprocessing.connection import Connection
from typing import Any, Final, TypeAlias

from horae.domain.jobs.job import Cancelled, Claim, Crashed, Failed, Outcome, Succeeded
from horae.errors import JobCancelled, LeaseLost, SoftTimeLimitExceeded
from horae.runtime.bodies.runner import BodyResult, Interrupted

Message: TypeAlias = dict[str, Any]

OUTCOMES: Final[Mapping[str, type[Outcome]]] = {
    "succeeded": Succeeded,
    "failed": Failed,
    "cancelled": Cancelled,
    "crashed": Crashed,
}
_NAMES: Final = {kind: name for name, kind in OUTCOMES.items()}
ORDERS: Final[Mapping[str, type[BaseException]]] = {
    "cancel": JobCancelled,
    "lease_lost": LeaseLost,
    "soft_time_limit": SoftTimeLimitExceeded,
    "interrupt": Interrupted,
}


def send(pipe: Connection, kind: str, **fields: Any) -> None:
    """Say one thing; raises OSError once nobody listens."""
    pipe.send_bytes(json.dumps({"kind": kind, **fields}).encode())


def receive(pipe: Connection) -> Message:
    """Hear one thing; raises EOFError or OSError once nobody speaks, ValueError for what is no message."""
    message: Message = json.loads(pipe.recv_bytes())
    return message


def claim_as_json(claim: Claim) -> dict[str, Any]:
    """The claim in JSON's types."""
    moment = claim.nominal_time
    return {**claim._asdict(), "nominal_time": None if moment is None else moment.isoformat()}


def claim_from_json(fields: Mapping[str, Any]) -> Claim:
    """The claim again."""
    moment = fields["nominal_time"]
    values: dict[str, Any] = {**fields, "nominal_time": None if moment is None else datetime.fromisoformat(moment)}
    return Claim(**values)


def order_as_json(order: BaseException) -> dict[str, Any]:
    """An order to stop: its kind, and who cancelled or what was said. One of no known kind is an interruption."""
    kind = next((name for name, known in ORDERS.items() if isinstance(order, known)), "interrupt")
    return {"order": kind, "word": order.by if isinstance(order, JobCancelled) else str(order)}


def order_from_json(fields: Mapping[str, Any]) -> BaseException:
    """The order again."""
    return ORDERS[fields["order"]](fields["word"])


def performed_as_json(performed: BodyResult) -> dict[str, Any]:
    """What came of a body; the exception itself stays behind, its texts are in the outcome."""
    if performed.outcome is None:
        name, fields = None, dict[str, Any]()
    else:
        name, fields = _NAMES[type(performed.outcome)], asdict(performed.outcome)
    return {
        "outcome": name,
        "fields": fields,
        "settled": performed.settled,
        "took": performed.took,
        "unbegun": performed.unbegun,
    }


def performed_from_json(fields: Mapping[str, Any]) -> BodyResult:
    """What came of a body, again."""
    kind = fields["outcome"]
    outcome = None if kind is None else OUTCOMES[kind](**fields["fields"])
    return BodyResult(outcome, settled=fields["settled"], took=fields["took"], unbegun=fields["unbegun"])
