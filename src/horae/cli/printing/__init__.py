"""How the command line prints: tables, texts and JSON."""

from horae.cli.printing.forecasts import (
    comparison_values,
    forecast_values,
    print_comparison,
    print_forecast,
)
from horae.cli.printing.job_views import COLUMNS, line_of, print_job
from horae.cli.printing.output import (
    STYLES,
    Columns,
    brief,
    console,
    local_time,
    print_fields,
    print_json,
    print_table,
)
from horae.cli.printing.schedule_views import (
    declared_in_words,
    note_of,
    reference_of,
    statistics_values,
)

__all__ = [
    "COLUMNS",
    "STYLES",
    "Columns",
    "brief",
    "comparison_values",
    "console",
    "declared_in_words",
    "forecast_values",
    "line_of",
    "local_time",
    "note_of",
    "print_comparison",
    "print_fields",
    "print_forecast",
    "print_job",
    "print_json",
    "print_table",
    "reference_of",
    "statistics_values",
]
