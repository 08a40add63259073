"""The commands of `horae jobs`."""
