"""What is known of a Celery application: values that `reading` makes and `writing` prints."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Described:
    """A job type or a schedule to be written.

    `function`: the name of its function; `options`: those of its decorator, as Python source;
    `notes`: what a reader has to check, and what has no counterpart; `imports`: the import
    statements that the options need.
    """

    function: str
    options: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])
    imports: set[str] = field(default_factory=set[str])


@dataclass(slots=True)
class TaskCode(Described):
    """A task: `name` is that of Celery, `parameters` and `call` are Python source.

    `call` is None if the code of the task cannot be reached by importing its module.
    """

    name: str = ""
    parameters: tuple[str, ...] = ()
    call: str | None = None
    documentation: str = ""


@dataclass(slots=True)
class EntryCode(Described):
    """An entry of `beat_schedule`.

    `decorator` is None if its schedule has no counterpart. `call` is what its body does, and
    `weekdays` the days on which it may run if `decorator` cannot say that (0 is Sunday).
    """

    key: str = ""
    decorator: str | None = None
    call: str | None = None
    weekdays: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ApplicationCode:
    """Everything that is written of one application."""

    reference: str
    tasks: list[TaskCode]
    entries: list[EntryCode]
    notes: list[str]
