"""Forecasts of an application: its declared schedules, and what its database knows about them."""
