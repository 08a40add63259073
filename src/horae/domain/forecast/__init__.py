"""Forecasts what schedules will do, from a scenario; nothing here reads a clock or a database."""
