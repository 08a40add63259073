"""An option of a start is declared once; the keywords and the flags follow."""

import typer

from horae.cli.commands.jobs.jobs import jobs_app
from horae.cli.start_flags import start_options
from horae.types.options.start_options import OPTIONS, StartOptions, options_in


def test_keywords_are_options_or_parameters() -> None:
    options, values = options_in({"path": "a.csv", "priority": 3, "queue": None})
    assert (options, values) == (StartOptions(priority=3), {"path": "a.csv"})
    assert options_in({"path": None}) == (StartOptions(), {"path": None})


def test_each_option_is_a_flag_of_the_command() -> None:
    group = typer.main.get_group(jobs_app)
    flags = {flag for each in group.commands["start"].params for flag in each.opts}
    wanted = {f"--{(option.flag or name).replace('_', '-')}" for name, option in OPTIONS.items()}
    assert wanted <= flags


def test_flags_that_are_not_given_leave_the_defaults() -> None:
    given = {option.flag or name: None for name, option in OPTIONS.items()}
    assert start_options(given) == StartOptions()
    assert start_options({**given, "priority": 0, "tag": []}) == StartOptions(priority=0)
