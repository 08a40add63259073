"""What the faults of a test have made legal."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The circumstances under which the rules are checked.

    `over`: all work has ended, so nothing may be open. `kept`: no job was deleted. `steady_clock`: the database's clock
    was not set, so moments of different rows can be compared. `frozen_processes`: a process was stopped and continued,
    or cut off from the database, so that its body may have run on beside its successor (its writes are still fenced).
    `slept`: a machine slept, which the durations of bodies leave out, so that a begin reckoned from them is too late.
    """

    over: bool = True
    kept: bool = True
    steady_clock: bool = True
    frozen_processes: bool = False
    slept: bool = False
