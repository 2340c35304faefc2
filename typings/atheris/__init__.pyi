from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

def Setup(  # noqa: N802 - the package's own name
    args: Sequence[str], test_one_input: Callable[[bytes], None], *, internal_libfuzzer: bool | None = ...
) -> list[str]: ...
def Fuzz() -> None: ...  # noqa: N802 - the same
def instrument_imports(
    include: Sequence[str] | None = ...,
    exclude: Sequence[str] | None = ...,
    *,
    enable_loader_override: bool = ...,
) -> AbstractContextManager[None]: ...
