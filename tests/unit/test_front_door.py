"""The front door: everything it lets through is named, in order, and nothing is missing."""

import ast
import inspect
from pathlib import Path

import horae
from horae import errors

IMPORTED = [
    alias.asname or alias.name
    for node in ast.walk(ast.parse(Path(horae.__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
]


def test_the_names_are_sorted_and_each_stands_once() -> None:
    constants_first = sorted(set(horae.__all__), key=lambda name: (not name.isupper(), name))  # as Ruff sorts them
    assert horae.__all__ == constants_first


def test_what_is_imported_is_named_and_what_is_named_is_there() -> None:
    assert sorted(horae.__all__) == sorted(IMPORTED)
    assert [name for name in horae.__all__ if not hasattr(horae, name)] == []


def test_nothing_but_imports_and_names_stands_in_the_door() -> None:
    body = ast.parse(Path(horae.__file__).read_text(encoding="utf-8")).body
    kinds = {type(node) for node in body[1:]}
    assert kinds == {ast.ImportFrom, ast.Assign}


def test_every_error_can_be_caught_by_a_guest() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == errors.__name__
    }
    assert classes - set(horae.__all__) == set()


def test_everything_is_documented() -> None:
    bare = [
        name for name in horae.__all__ if inspect.isclass(getattr(horae, name)) and not getattr(horae, name).__doc__
    ]
    assert bare == []


def test_every_error_stands_in_the_drawn_tree() -> None:
    drawn = errors.__doc__ or ""
    words = set(drawn.replace("├──", " ").replace("└──", " ").replace("│", " ").split())
    classes = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and value.__module__ == errors.__name__
    }
    assert classes - words == set()


def test_an_order_to_stop_is_not_caught_by_accident() -> None:
    assert not issubclass(errors.JobStopped, Exception)
    assert issubclass(errors.JobCancelled, errors.JobStopped)
    assert issubclass(errors.LeaseLost, errors.JobStopped)
