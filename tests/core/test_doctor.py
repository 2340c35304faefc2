"""What doctor's facts mean: which are worth attention, and that each that is comes with what to do."""

import itertools
from collections.abc import Callable
from typing import Final

import pytest

from sandbox_pin.core.doctor import Fate, Leftover, Trial, judge_leftovers, judge_trials, judge_violations
from sandbox_pin.core.doctor_finding import Finding, Severity, Subject, needs_attention
from sandbox_pin.core.doctor_host import INSTALL, HostSettings, judge_host
from sandbox_pin.core.doctor_run_root import FolderFacts, Trusted, judge_run_root
from sandbox_pin.core.gate import Capable, Incapable
from sandbox_pin.core.placement import ItemRole, Reason, Violation, describe_violation

ME, OTHER, MY_GROUP, OTHER_GROUP = 1000, 1001, 1000, 50
USERNS = Incapable(missing="user namespaces can't be set up (bwrap: ...)", remedy="the host's own words")
CLOSED = HostSettings(max_user_namespaces=0, unprivileged_userns_clone=0, apparmor_restrict=1)


def folder(path: str = "/r", *, owner: int = ME, group: int = MY_GROUP, mode: int = 0o700) -> FolderFacts:
    """A folder of mine."""
    return FolderFacts(path=path, is_folder=True, owner=owner, group=group, mode=mode)


def root_findings(end: FolderFacts | None, *way: FolderFacts) -> list[Finding]:
    return judge_run_root("/r", end, way, trusted=Trusted(user=ME, group=MY_GROUP))


def well(subject: Subject, found: str) -> Finding:
    """What needs no attention."""
    return Finding(subject=subject, severity=Severity.OK, found=found)


def warning(subject: Subject, found: str, remedy: str) -> Finding:
    """What should be mended."""
    return Finding(subject=subject, severity=Severity.WARNING, found=found, remedy=remedy)


def error(subject: Subject, found: str, remedy: str | None) -> Finding:
    """What commands are refused for, or what breaks a promise."""
    return Finding(subject=subject, severity=Severity.ERROR, found=found, remedy=remedy)


VIOLATION: Final = Violation(
    role=ItemRole.PACKAGE, path="/w/lib", reason=Reason.IN_TREE, tree="/w", where="/w/lib"
)
NO_USERNS: Final = "can't enforce: user namespaces can't be set up (bwrap: ...)"
OWN_FOLDER: Final = "Name a folder of your own with --runs or SANDBOX_PIN_RUNS."
SWAP: Final = "others could put another folder in their place"
ELSEWHERE: Final = "chmod go-w /up, or keep the runs elsewhere (--runs, SANDBOX_PIN_RUNS)."
LOCAL_DISK: Final = "Keep the runs on a local file system that you may write (--runs, SANDBOX_PIN_RUNS)."

TOLD: Final[dict[str, tuple[Callable[[], list[Finding]], list[Finding]]]] = {
    "a host that can": (
        lambda: judge_host(Capable(backend="bubblewrap", program="/bwrap"), CLOSED, program="/bwrap"),
        [well(Subject.HOST, "can enforce, by bubblewrap (/bwrap)")],
    ),
    "a host without the program": (
        lambda: judge_host(Incapable(missing="no bwrap", remedy="Get it."), CLOSED, program=None),
        [error(Subject.HOST, "can't enforce: no bwrap", INSTALL)],
    ),
    "a host without user namespaces": (
        lambda: judge_host(USERNS, HostSettings(), program="/bwrap"),
        [error(Subject.HOST, NO_USERNS, "the host's own words")],
    ),
    "a host whose every setting is shut": (
        lambda: judge_host(USERNS, CLOSED, program="/bwrap"),
        [
            error(
                Subject.HOST,
                NO_USERNS,
                "user.max_user_namespaces is 0: as root, sysctl -w user.max_user_namespaces=15000, "
                "and the same line in /etc/sysctl.d/ for the next boot. "
                "kernel.unprivileged_userns_clone is 0: as root, "
                "sysctl -w kernel.unprivileged_userns_clone=1, "
                "and the same line in /etc/sysctl.d/ for the next boot. "
                "kernel.apparmor_restrict_unprivileged_userns is 1: give bwrap an AppArmor profile that "
                "allows userns (better), or as root, "
                "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0.",
            )
        ],
    ),
    "a host whose system calls are filtered": (
        lambda: judge_host(USERNS, HostSettings(filtered=True), program="/bwrap"),
        [
            error(
                Subject.HOST,
                NO_USERNS,
                "The system calls of this process are filtered, as in a container: let the container's "
                "security profile allow user namespaces (docker, podman: --security-opt "
                "seccomp=unconfined, or a profile).",
            )
        ],
    ),
    "nothing of ours in a launch tree": (
        lambda: judge_violations([], ["/w", "/v"]),
        [well(Subject.PLACEMENT, "nothing that decides lies in /w, /v")],
    ),
    "the package in a launch tree": (
        lambda: judge_violations([VIOLATION], ["/w"]),
        [error(Subject.PLACEMENT, describe_violation(VIOLATION), None)],
    ),
    "a folder of runs of mine": (
        lambda: root_findings(folder()),
        [well(Subject.RUN_ROOT, "/r is yours alone")],
    ),
    "a folder of runs that is not made yet": (
        lambda: root_findings(None),
        [well(Subject.RUN_ROOT, "/r is not made yet; the first run makes it")],
    ),
    "what is no folder, whoever's and on whatever way": (
        lambda: root_findings(
            FolderFacts(path="/real", is_folder=False, owner=OTHER, group=0, mode=0o777),
            folder("/up", mode=0o777),
        ),
        [
            error(
                Subject.RUN_ROOT,
                "/r is no folder",
                "Name another folder with --runs or SANDBOX_PIN_RUNS.",
            )
        ],
    ),
    "a folder of runs that others may read": (
        lambda: root_findings(folder("/real", mode=0o750)),
        [warning(Subject.RUN_ROOT, "/real may be read by others (its mode is 0750)", "chmod 700 /real")],
    ),
    "another's folder of runs, that others may write": (
        lambda: root_findings(folder("/real", owner=OTHER, mode=0o720)),
        [
            error(Subject.RUN_ROOT, "/real belongs to the user 1001, and you are 1000", OWN_FOLDER),
            error(Subject.RUN_ROOT, "/real may be written by others (its mode is 0720)", "chmod 700 /real"),
        ],
    ),
    "another's folder on the way": (
        lambda: root_findings(folder(), folder("/up", owner=OTHER)),
        [
            warning(
                Subject.RUN_ROOT,
                f"/up, on the way to the runs, belongs to the user 1001: {SWAP}",
                ELSEWHERE,
            )
        ],
    ),
    "everyone's folder on the way": (
        lambda: root_findings(folder(), folder("/up", mode=0o777)),
        [
            error(
                Subject.RUN_ROOT,
                "/up, on the way to the runs, may be written by everyone, and has no sticky bit "
                f"(its mode is 0777): {SWAP}",
                ELSEWHERE,
            )
        ],
    ),
    "a group's folder on the way": (
        lambda: root_findings(folder(), folder("/up", group=OTHER_GROUP, mode=0o770)),
        [
            warning(
                Subject.RUN_ROOT,
                f"/up, on the way to the runs, may be written by the group 50 (its mode is 0770): {SWAP}",
                ELSEWHERE,
            )
        ],
    ),
    "a file system that can": (
        lambda: judge_trials("/r", [Trial(what="flock(2)"), Trial(what="fsync(2)")]),
        [well(Subject.FILE_SYSTEM, "flock(2), fsync(2): all work")],
    ),
    "a file system that can't, in two ways": (
        lambda: judge_trials(
            "/r", [Trial(what="a"), Trial(what="b", failure="no"), Trial(what="c", failure="never")]
        ),
        [
            error(Subject.FILE_SYSTEM, "b does not work in /r: no", LOCAL_DISK),
            error(Subject.FILE_SYSTEM, "c does not work in /r: never", LOCAL_DISK),
        ],
    ),
    "no leftovers": (
        lambda: judge_leftovers([]),
        [well(Subject.LEFTOVER, "nothing is left behind by killed commands")],
    ),
    "leftovers": (
        lambda: judge_leftovers(
            [
                Leftover(path="/r/x", fate=Fate.CLEARED),
                Leftover(path="/r/y", fate=Fate.LEFT),
                Leftover(path="/r/z", fate=Fate.KEPT, why="it holds a folder"),
            ]
        ),
        [
            well(Subject.LEFTOVER, "/r/x was left by a killed command, and is cleared"),
            warning(
                Subject.LEFTOVER,
                "/r/y is left of a killed command",
                "The same command with --fix clears it.",
            ),
            warning(
                Subject.LEFTOVER,
                "/r/z looks like what a killed command leaves, and is kept: it holds a folder",
                "Look at it, and remove it by hand.",
            ),
        ],
    ),
}
"""What is judged, and all that is found: each finding whole."""


@pytest.mark.parametrize("what", TOLD)
def test_what_is_found_is_told_in_these_words(what: str) -> None:
    judge, findings = TOLD[what]
    assert judge() == findings


def test_a_host_without_the_program_is_told_each_way_to_get_it() -> None:
    """Its settings are not, though they are shut: nothing was tried against them."""
    host = Incapable(missing="bubblewrap is not installed", remedy="Install it.")
    (found,) = judge_host(host, CLOSED, program=None)
    assert (found.severity, found.remedy) == (Severity.ERROR, INSTALL)
    for words in ("apt install", "dnf install", "pacman -S", "sandbox-pin[bubblewrap]"):
        assert words in INSTALL


SETTINGS = ("user.max_user_namespaces", "kernel.unprivileged_userns_clone", "kernel.apparmor_restrict")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (HostSettings(max_user_namespaces=0), SETTINGS[:1]),
        (HostSettings(max_user_namespaces=0, is_root=True), SETTINGS[:1]),
        (HostSettings(unprivileged_userns_clone=0), SETTINGS[1:2]),
        (HostSettings(unprivileged_userns_clone=0, is_root=True), ()),
        (HostSettings(apparmor_restrict=1), SETTINGS[2:]),
        (HostSettings(apparmor_restrict=1, is_root=True), ()),
        (HostSettings(max_user_namespaces=1, unprivileged_userns_clone=1, apparmor_restrict=0), ()),
        (HostSettings(), ()),
        (CLOSED, SETTINGS),
    ],
)
def test_a_setting_is_named_where_it_alone_is_enough(settings: HostSettings, named: tuple[str, ...]) -> None:
    (found,) = judge_host(USERNS, settings, program="/bwrap")
    assert found.severity is Severity.ERROR
    assert found.remedy is not None
    assert tuple(name for name in SETTINGS if name in found.remedy) == named
    assert (found.remedy == USERNS.remedy) == (not named)


def test_a_filter_of_system_calls_is_named_where_no_setting_is_the_cause() -> None:
    (found,) = judge_host(USERNS, HostSettings(filtered=True), program="/bwrap")
    assert "seccomp" in (found.remedy or "")
    (found,) = judge_host(USERNS, HostSettings(filtered=True, max_user_namespaces=0), program="/bwrap")
    assert "seccomp" not in (found.remedy or "")


def test_what_has_nothing_to_do_with_namespaces_names_none_of_their_settings() -> None:
    host = Incapable(missing="a /proc of its own may not be mounted", remedy="Let the container leave it.")
    (found,) = judge_host(host, CLOSED, program="/bwrap")
    assert found.remedy == host.remedy


def test_a_folder_of_runs_that_is_mine_alone_is_well_whether_made_yet_or_not() -> None:
    for end in (folder(), None):
        assert [found.severity for found in root_findings(end, folder("/", owner=0, group=0))] == [
            Severity.OK
        ]


def test_any_right_of_others_to_the_runs_needs_attention() -> None:
    """And is an error where they may write; each of the 512 modes is tried."""
    for mode in range(0o1000):
        others = {False: Severity.OK, True: Severity.WARNING}[bool(mode & 0o077)]
        (found,) = root_findings(folder(mode=mode))
        assert found.severity is (Severity.ERROR if mode & 0o022 else others), oct(mode)


@pytest.mark.parametrize(
    ("on_the_way", "severity"),
    [
        (folder(owner=0, mode=0o755), Severity.OK),
        (folder(owner=0, group=OTHER_GROUP, mode=0o755), Severity.OK),
        (folder(mode=0o755), Severity.OK),
        (folder(mode=0o775), Severity.OK),
        (folder(owner=0, group=0, mode=0o775), Severity.OK),
        (folder(owner=0, mode=0o1777), Severity.OK),
        (folder(mode=0o1777), Severity.OK),
        (folder(owner=0, mode=0o777), Severity.ERROR),
        (folder(mode=0o757), Severity.ERROR),
        (folder(mode=0o702), Severity.ERROR),
        (folder(group=OTHER_GROUP, mode=0o770), Severity.WARNING),
        (folder(group=OTHER_GROUP, mode=0o1770), Severity.OK),
        (folder(owner=OTHER, mode=0o700), Severity.WARNING),
        (folder(owner=OTHER, mode=0o1777), Severity.ERROR),
    ],
)
def test_a_folder_on_the_way_where_others_could_swap_a_name_needs_attention(
    on_the_way: FolderFacts, severity: Severity
) -> None:
    found = root_findings(folder("/up/r"), on_the_way)
    assert [finding.severity for finding in found] == [severity]


def test_the_owner_of_the_whole_system_may_own_what_is_on_the_way() -> None:
    """In a user namespace that is not the user 0."""
    trusted = Trusted(user=ME, group=MY_GROUP, system=65_534, system_group=65_533)
    way = [folder("/", owner=65_534, mode=0o755), folder("/a", owner=65_534, group=65_533, mode=0o775)]
    (found,) = judge_run_root("/a/r", folder("/a/r"), way, trusted=trusted)
    assert found.severity is Severity.OK


def test_the_owner_of_the_runs_is_told_beside_their_mode() -> None:
    assert len(root_findings(folder(owner=OTHER, mode=0o777))) == 2
    (found,) = root_findings(folder(owner=0))
    assert found.severity is Severity.ERROR


def test_whatever_needs_attention_says_what_to_do_or_has_said_it() -> None:
    """A violation's line ends in its remedy; all else has one of its own."""
    findings = itertools.chain(
        judge_host(USERNS, HostSettings(), program="/bwrap"),
        root_findings(folder(owner=OTHER, mode=0o777), folder(mode=0o777), folder(owner=OTHER)),
        judge_trials("/r", [Trial(what="a", failure="no")]),
        judge_leftovers([Leftover(path="/r/x", fate=fate) for fate in Fate]),
    )
    for finding in findings:
        assert needs_attention([finding]) == (finding.remedy is not None)
        assert finding.subject is not Subject.PLACEMENT
