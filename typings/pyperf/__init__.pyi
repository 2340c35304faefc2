from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence

class Run:
    def __init__(
        self,
        values: Sequence[float],
        warmups: Sequence[tuple[int, float]] | None = None,
        metadata: Mapping[str, object] | None = None,
        collect_metadata: bool = True,
    ) -> None: ...
    @property
    def warmups(self) -> tuple[tuple[int, float], ...]: ...

class Benchmark:
    def __init__(self, runs: Sequence[Run]) -> None: ...
    def get_values(self) -> tuple[float, ...]: ...
    def get_runs(self) -> list[Run]: ...

class Runner:
    def __init__(
        self,
        values: int | None = None,
        processes: int | None = None,
        loops: int = 0,
        min_time: float = 0.1,
        metadata: Mapping[str, object] | None = None,
        show_name: bool = True,
        program_args: Sequence[str] | None = None,
        add_cmdline_args: Callable[[list[str], object], None] | None = None,
        _argparser: ArgumentParser | None = None,
        warmups: int = 1,
        hooks: Sequence[str] | None = None,
    ) -> None: ...
    def parse_args(self, args: Sequence[str] | None = None) -> object: ...
    def bench_time_func(
        self, name: str, time_func: Callable[..., float], *args: object, **kwargs: object
    ) -> Benchmark: ...
