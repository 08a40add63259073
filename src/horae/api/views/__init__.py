"""How jobs and schedules look in answers of the HTTP interface, and in events."""
