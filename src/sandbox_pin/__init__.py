"""Pins a coding agent's run to the sandbox mode that it began with."""
