"""The place of a job type's declaration, by which a child process imports it.

It never comes from the database.
"""

import sys
from pathlib import Path
from typing import Any, Final, cast

from horae.errors import InvalidJobType
from horae.types import Address, FunctionJobType, JobFunction, JobType

MAIN: Final = "__main__"
"""The main module.

A child process that "spawn" has started loads it as `__mp_main__`, and has it under both names.
"""


def address_of(job_type: JobType[Any]) -> Address:
    """Return where a child process can import this type; raises `InvalidJobType` if it cannot."""
    source: Any = job_type.function if isinstance(job_type, FunctionJobType) else type(job_type)
    address = Address(source.__module__, source.__qualname__)
    if address.module == MAIN and (reason := problem_of_main()) is not None:
        raise _refusal(job_type, address, reason)
    module = sys.modules.get(address.module)
    try:
        found = None if module is None else address.find_in(module)
    except AttributeError:
        found = None
    if found is type(job_type) or (isinstance(found, JobFunction) and found.job_type is job_type):
        return address
    raise _refusal(job_type, address, "that name refers to something else or to nothing")


def job_type_at(address: Address) -> JobType[Any]:
    """Import and return the job type; raises `InvalidJobType`, or an error of the import."""
    found = address.find()
    if isinstance(found, JobFunction):
        return found.job_type
    if isinstance(found, type) and issubclass(found, JobType):
        declared: JobType[Any] = cast("Any", found)()
        return declared
    raise InvalidJobType(f"{found!r} is not a job type")


def problem_of_main() -> str | None:
    """Return why a child process cannot import the main module of this one; None if it can."""
    main = sys.modules[MAIN]
    name = getattr(main.__spec__, "name", None)
    # Of a program that was read from standard input, the name of the file is "<stdin>".
    if name is None and not Path(getattr(main, "__file__", None) or "<stdin>").exists():
        return "an interactive session, or a program read from stdin, has no file to import"
    if name is not None and name.rpartition(".")[2] == MAIN:
        return "a package's __main__.py must not be imported, because that runs it"
    return None


def _refusal(job_type: JobType[Any], address: Address, reason: str) -> InvalidJobType:
    return InvalidJobType(
        f"job type {job_type.type!r} cannot run with isolation='process': a child process would"
        f" look for it as {address}, and {reason}; declare it at the top"
        " level of a module"
    )
