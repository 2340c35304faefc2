"""The command line: parses, calls the shell, prints."""
