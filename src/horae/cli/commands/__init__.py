"""The commands, a file or a folder for each group."""
