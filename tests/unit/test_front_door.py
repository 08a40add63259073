"""The public names of `horae`: all are listed, in order, and none is missing."""

import ast
import inspect
from collections.abc import Iterable
from pathlib import Path

import pytest

import horae
from horae import errors

BODY = ast.parse(Path(horae.__file__).read_text(encoding="utf-8")).body


def imported(statements: Iterable[ast.stmt]) -> dict[str, tuple[str, str]]:
    """Each name that is imported from a module of the package, with the module and its name there."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in statements
        if isinstance(node, ast.ImportFrom)
        and node.module is not None
        and node.module.startswith("horae.")
        for alias in node.names
    }


AT_ONCE = imported(BODY)
WHEN_USED = imported(part for node in BODY if isinstance(node, ast.If) for part in node.body)


def test_exported_names_are_sorted_and_unique() -> None:
    constants_first = sorted(
        set(horae.__all__), key=lambda name: (not name.isupper(), name)
    )  # as Ruff sorts them
    assert horae.__all__ == constants_first


def test_imports_and_exported_names_agree() -> None:
    assert sorted(horae.__all__) == sorted({**AT_ONCE, **WHEN_USED})
    assert [name for name in horae.__all__ if not hasattr(horae, name)] == []


def test_the_package_module_holds_only_imports_and_names() -> None:
    assert {type(node) for node in BODY[1:]} == {ast.ImportFrom, ast.Assign, ast.If}
    inside = [part for node in BODY if isinstance(node, ast.If) for part in node.body]
    assert [part.name for part in inside if isinstance(part, ast.FunctionDef)] == [
        "__getattr__",
        "__dir__",
    ]
    assert {type(part) for part in inside} == {ast.ImportFrom, ast.FunctionDef}


def test_type_checkers_and_programs_find_the_same_names_that_are_imported_when_used() -> None:
    assert horae._IMPORTED_WHEN_USED == WHEN_USED  # noqa: SLF001 - what the module's `__getattr__` reads
    assert set(horae.__all__) <= set(dir(horae))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'horae' has no attribute 'Nothing'"):
        getattr(horae, "Nothing")  # noqa: B009 - type checkers refuse `horae.Nothing`


def test_every_error_can_be_caught_by_a_guest() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value)
        and issubclass(value, BaseException)
        and value.__module__ == errors.__name__
    }
    assert classes - set(horae.__all__) == set()


def test_everything_is_documented() -> None:
    bare = [
        name
        for name in horae.__all__
        if inspect.isclass(getattr(horae, name)) and not getattr(horae, name).__doc__
    ]
    assert bare == []


def test_the_documented_tree_has_every_error() -> None:
    drawn = errors.__doc__ or ""
    words = set(drawn.replace("├──", " ").replace("└──", " ").replace("│", " ").split())
    classes = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    }
    assert classes - words == set()


def test_an_order_to_stop_is_not_caught_by_accident() -> None:
    assert not issubclass(errors.JobStopped, Exception)
    assert issubclass(errors.JobCancelled, errors.JobStopped)
    assert issubclass(errors.LeaseLost, errors.JobStopped)
