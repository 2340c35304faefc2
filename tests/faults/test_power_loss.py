"""The power goes at each call that changes a file: ext4 on a loop device, shut down with nothing flushed.

The laws are in ``faults/laws.py``. What was not flushed is gone, and the journal is played at the next mount.
The controls take a flush away, or all of them, and each must show its loss: the test can fail.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from faults.laws import Files, entries_in, held, mode_of
from faults.support import SCENARIOS, Bench, Driver, Place, Scenario, Tally, sample
from sandbox_pin import RunKind
from sandbox_pin.core.event import PinAccepted

_OPTIONS: Final = "noauto_da_alloc"
"""Without this option ext4 flushes a renamed file by itself, and hides that nobody else did."""

_CHANGES: Final = ("close", "fchmod", "fsync", "link", "mkdir", "open", "rename", "rmdir", "unlink", "write")
_CUT: Final = 99
_PATIENCE: Final = 30.0
_NAMED: Final = {scenario.name: scenario for scenario in SCENARIOS}
_TRIED: Final = (
    *("run", "step_strengthen", "step_accept", "step_accept_mending_first", "step_upgrade"),
    *("unblock_accept", "check_accept", "check_strengthen", "check_upgrade", "recover_state", "recover_log"),
)
_EATMYDATA: Final = shutil.which("eatmydata")

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a disk and take its power away"),
    pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="mkfs.ext4 is not installed"),
]


class Disk:
    """A small disk; what is on it can be made safe, or lose its power."""

    def __init__(self, folder: Path, device: str) -> None:
        self.mount_point = folder / "mnt"
        self.mount_point.mkdir()
        self._device = device
        _ = subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)

    def mount(self) -> None:
        """Mounts it, its journal played."""
        _ = subprocess.run(["mount", "-o", _OPTIONS, self._device, self.mount_point], check=True)

    def unmount(self) -> None:
        """Takes it away, and waits until it is: a sandbox that starts meanwhile has a copy of each mount."""
        _ = subprocess.run(["umount", self.mount_point], check=True)
        deadline = time.monotonic() + _PATIENCE
        while Path("/sys/fs/ext4", Path(self._device).name).exists():
            assert time.monotonic() < deadline, "another process keeps the disk mounted"
            time.sleep(0.005)

    def again(self) -> None:
        """What a reboot finds."""
        self.unmount()
        self.mount()


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Disk]:
    """A disk of its own, gone at the end."""
    image = tmp_path / "disk"
    with image.open("wb") as file:
        _ = file.truncate(16 << 20)
    found = subprocess.run(
        ["losetup", "--find", "--show", image], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        pytest.skip(f"there is no loop device to be had: {found.stderr.strip()}")
    device = found.stdout.strip()
    try:
        disk = Disk(tmp_path, device)
        disk.mount()
        try:
            yield disk
        finally:
            disk.unmount()
    finally:
        _ = subprocess.run(["losetup", "--detach", device], check=True)


class Cut(Bench):
    """A bench on a disk that loses its power."""

    def __init__(self, driver: Driver, disk: Disk, scenario: Scenario) -> None:
        super().__init__(driver, Place(disk.mount_point / "home"), scenario)
        self.disk = disk

    def try_at(self, point: int, *, unsynced: tuple[str, ...] = ()) -> Files:
        """The run before, safe on the disk; the command until the power goes at that call; the run after."""
        self.before = self.fresh()
        _ = subprocess.run(["sync", "-f", self.disk.mount_point], check=True)
        job = replace(
            self.job(),
            point=point,
            fault="cut",
            only=_CHANGES,
            disk=str(self.disk.mount_point),
            unsynced=unsynced,
        )
        self.answer = self.driver.do(job)
        assert self.answer.status == _CUT, self.answer
        assert self.driver.reap() == ()
        self.disk.again()
        return self.scenario.read(self.place)


@contextmanager
def _on(disk: Disk, name: str, driver: Driver) -> Generator[tuple[Cut, int]]:
    """A scenario on a disk, and how many of its calls change a file."""
    bench = Cut(driver, disk, _NAMED[name])
    yield bench, len(bench.record(only=_CHANGES))


@pytest.mark.parametrize("name", _TRIED)
def test_laws_1_and_3_hold_where_the_power_goes_before_any_change(
    name: str, driver: Driver, disk: Disk, tally: Tally
) -> None:
    with _on(disk, name, driver) as (bench, last):
        tally.points = last + 1
        for point in sample(range(1, last + 2), f"power {name}"):
            _ = bench.try_at(point)
            bench.judge(bench.before, replace(bench.answer, status=-9), trial=("power cut", point))
            tally.trials += 1


@pytest.mark.parametrize("name", _TRIED)
def test_what_a_command_did_before_it_ended_survives_a_power_cut(
    name: str, driver: Driver, disk: Disk, tally: Tally
) -> None:
    with _on(disk, name, driver) as (bench, last):
        after = bench.try_at(last + 1)
        pin = held(after, RunKind.LOCAL, foreign=bench.scenario.foreign)
        assert mode_of(pin) == ("required" if bench.scenario.recovers else bench.scenario.wanted)
        tally.points = tally.trials = 1


def _losses(driver: Driver, disk: Disk, *unsynced: str) -> list[str]:
    """The laws that an accept breaks where some flushes are left out and the power goes, at any point."""
    losses: list[str] = []
    with _on(disk, "check_accept", driver) as (bench, last):
        for point in range(1, last + 2):
            _ = bench.try_at(point, unsynced=unsynced)
            try:
                bench.judge(bench.before, replace(bench.answer, status=-9), trial=("power cut", point))
            except AssertionError as error:
                losses.append(str(error))
    return losses


def test_control_without_the_flush_of_the_log_law_1_is_broken(driver: Driver, disk: Disk) -> None:
    losses = _losses(driver, disk, "log")
    assert any("law 1: weaker" in loss for loss in losses), losses


def test_control_without_the_flush_of_the_file_aside_law_3_is_broken(driver: Driver, disk: Disk) -> None:
    """The state is torn: renamed into place before its bytes were safe."""
    losses = _losses(driver, disk, "aside")
    assert any("empty; expected one JSON object" in loss for loss in losses), losses


def test_control_without_the_flush_of_the_folder_a_finished_accept_is_lost(
    driver: Driver, disk: Disk
) -> None:
    with _on(disk, "check_accept", driver) as (bench, last):
        after = bench.try_at(last + 1, unsynced=("folder",))
        assert after.state == bench.before.files.state, "the old state was expected"
        assert any(isinstance(entry, PinAccepted) for entry in entries_in(after.log)), "its log was flushed"


def test_control_under_eatmydata_a_finished_accept_is_lost(disk: Disk) -> None:
    """The correct code, unchanged, on a system that lies about every flush."""
    if _EATMYDATA is None:
        pytest.skip("eatmydata is not installed")
    with Driver(_EATMYDATA) as lied_to, _on(disk, "check_accept", lied_to) as (bench, last):
        after = bench.try_at(last + 1)
        assert after == bench.before.files, "nothing of the accept was expected"
