"""The pure half: bytes and values in, values out.

No file, clock, environment, randomness or process is touched below this folder (import-linter holds it):
the time, the bytes and the facts about the host come in as arguments.
"""
