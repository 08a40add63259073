"""Where a job type is declared, so that a child process finds it by import. Nothing here comes from the database."""

import sys
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any, Final, cast

from horae.errors import InvalidJobType
from horae.types.function import FunctionJobType, JobFunction
from horae.types.job_type import JobType

MAIN: Final = "__main__"
"""A child started by "spawn" loads it again, as `__mp_main__`, and knows it by both names."""


@dataclass(frozen=True, slots=True)
class Address:
    """A module, and the dotted name of a declaration within it."""

    module: str
    qualname: str


def address_of(job_type: JobType[Any]) -> Address:
    """Where a child process finds this type; raises `InvalidJobType`, which says what to do, if it cannot."""
    source: Any = job_type.function if isinstance(job_type, FunctionJobType) else type(job_type)
    address = Address(source.__module__, source.__qualname__)
    if address.module == MAIN:
        _check_main(job_type, address)
    module = sys.modules.get(address.module)
    try:
        found = None if module is None else _attribute(module, address)
    except AttributeError:
        found = None
    if found is type(job_type) or (isinstance(found, JobFunction) and found.job_type is job_type):
        return address
    raise _refusal(job_type, address, "that name does not lead to it")


def job_type_at(address: Address) -> JobType[Any]:
    """The job type declared there, imported if need be; raises `InvalidJobType`, or whatever the import raises."""
    found: Any = _attribute(import_module(address.module), address)
    if isinstance(found, JobFunction):
        return found.job_type
    if isinstance(found, type) and issubclass(found, JobType):
        declared: JobType[Any] = cast("Any", found)()
        return declared
    raise InvalidJobType(f"{found!r} is no job type")


def _attribute(module: object, address: Address) -> Any:
    return reduce(getattr, address.qualname.split("."), module)


def _check_main(job_type: JobType[Any], address: Address) -> None:
    main = sys.modules[MAIN]
    name = getattr(main.__spec__, "name", None)
    if name is None and getattr(main, "__file__", None) is None:
        raise _refusal(job_type, address, "an interactive session has no file to import")
    if name is not None and name.rpartition(".")[2] == MAIN:
        raise _refusal(job_type, address, "a package's __main__.py runs when imported, so nobody imports it")


def _refusal(job_type: JobType[Any], address: Address, reason: str) -> InvalidJobType:
    return InvalidJobType(
        f"job type {job_type.type!r} cannot run with isolation='process': a child process would look for it as "
        f"{address.module}.{address.qualname}, and {reason}; declare it at the top level of a module"
    )
