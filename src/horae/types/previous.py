"""Arguments that are results of other jobs: `Previous[int]`, `Results[int]`.

They are no parameters: nobody passes them and nothing of them is stored. They are read when the
body begins, from the jobs that this one has waited for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, get_args, get_origin

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

from horae.domain.jobs import JobState
from horae.errors import HoraeError, InvalidJobType

if TYPE_CHECKING:  # the statements are imported where they are executed
    from horae.storage.jobs.groups import PastResult

T = TypeVar("T")

MOST_JOBS: Final = 10_000
"""Results that a body gets as an argument; `job.group.results()` has no such bound."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""The length of these results together."""


@dataclass(frozen=True, slots=True)
class FromJobsBefore:
    """Marks an argument: the results of all jobs before this one, or the result of the only one."""

    all: bool


Previous: TypeAlias = Annotated[T, FromJobsBefore(all=False)]
"""The result of the job before this one, in a chain or by `after`; None if it did not finish."""
Results: TypeAlias = Annotated[list[T], FromJobsBefore(all=True)]
"""The results of all jobs before this one that have finished, as members of its group or by
`after`, in the order in which these were created.
"""


class PreviousResultMissing(HoraeError):
    """The results of the jobs before this one cannot be passed to its body."""


@dataclass(frozen=True, slots=True)
class TakenResults:
    """What a job type takes of the jobs before its jobs.

    `optional`: whether a job without others before it may be started; its body gets the default.
    """

    all: bool
    adapter: "TypeAdapter[Any]"
    optional: bool = False
    default: Any = None

    def value_of(self, found: "Sequence[PastResult] | None") -> Any:
        """Return the argument of the body. Raises `PreviousResultMissing`."""
        if found is None and self.optional:
            return self.default
        if found is None or not (found or self.all):
            raise PreviousResultMissing(
                "its body takes the result of another job, and there is none before it; it was"
                " deleted, or this job was started alone"
            )
        if not self.all and len(found) > 1:
            raise PreviousResultMissing(
                f"its body takes the result of one job, and {len(found):,} are before it; declare"
                " the argument as Results[…]"
            )
        texts = [each.text or "null" for each in found if each.state is JobState.FINISHED]
        text = f"[{','.join(texts)}]" if self.all else (*texts, "null")[0]
        try:
            return self.adapter.validate_json(text)
        except ValidationError as error:
            item = error.errors(include_input=False)[0]
            where = ".".join(map(str, item["loc"]))
            source = f"job {found[0].id} ({found[0].type})" if len(found) == 1 else "other jobs"
            raise PreviousResultMissing(
                f"the result of {source} is not what the body takes:"
                f" {f'{where}: ' if where else ''}{item['msg']}"
            ) from None  # its text repeats the result


def is_taken(hint: Any) -> bool:
    """Return whether an annotation is `Previous[…]` or `Results[…]`."""
    return _mark_of(hint) is not None


def taken_results(
    job_type: str, hint: Any, *, optional: bool = False, default: Any = None
) -> TakenResults:
    """Return what an annotation takes. Raises `InvalidJobType`."""
    mark = _mark_of(hint)
    if mark is None:
        raise InvalidJobType(
            f"job type {job_type!r}: previous is {hint!r}, expected Previous[…] or Results[…]"
        )
    try:
        return TakenResults(mark.all, TypeAdapter(hint), optional, default)
    except PydanticSchemaGenerationError as error:
        raise InvalidJobType(
            f"job type {job_type!r}: a result cannot be read as {hint!r}: {error}"
        ) from error


def _mark_of(hint: Any) -> FromJobsBefore | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((part for part in get_args(hint) if isinstance(part, FromJobsBefore)), None)
