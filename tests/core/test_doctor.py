"""What doctor's facts mean: which are worth attention, and that each that is comes with what to do."""

import itertools

import pytest

from sandbox_pin.core.doctor import Fate, Leftover, Trial, judge_leftovers, judge_trials, judge_violations
from sandbox_pin.core.doctor_finding import Finding, Severity, Subject, needs_attention
from sandbox_pin.core.doctor_host import INSTALL, HostSettings, judge_host
from sandbox_pin.core.doctor_run_root import FolderFacts, Trusted, judge_run_root
from sandbox_pin.core.gate import Capable, Incapable
from sandbox_pin.core.placement import ItemRole, Reason, Violation

ME, OTHER, MY_GROUP, OTHER_GROUP = 1000, 1001, 1000, 50
USERNS = Incapable(missing="user namespaces can't be set up (bwrap: ...)", remedy="the host's own words")
CLOSED = HostSettings(max_user_namespaces=0, unprivileged_userns_clone=0, apparmor_restrict=1)


def folder(path: str = "/r", *, owner: int = ME, group: int = MY_GROUP, mode: int = 0o700) -> FolderFacts:
    """A folder of mine."""
    return FolderFacts(path=path, is_folder=True, owner=owner, group=group, mode=mode)


def root_findings(end: FolderFacts | None, *way: FolderFacts) -> list[Finding]:
    return judge_run_root("/r", end, way, trusted=Trusted(user=ME, group=MY_GROUP))


def test_a_host_that_can_is_well() -> None:
    host = Capable(backend="bubblewrap", program="/usr/bin/bwrap")
    (found,) = judge_host(host, CLOSED, program="/usr/bin/bwrap")
    assert (found.severity, found.remedy) == (Severity.OK, None)
    assert not needs_attention([found])


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


def test_what_a_launch_could_rewrite_is_an_error() -> None:
    violation = Violation(
        role=ItemRole.PACKAGE, path="/w/lib", reason=Reason.IN_TREE, tree="/w", where="/w/lib"
    )
    (found,) = judge_violations([violation], ["/w"])
    assert found.severity is Severity.ERROR
    assert "/w/lib" in found.found
    (found,) = judge_violations([], ["/w", "/v"])
    assert found.severity is Severity.OK
    assert "/w, /v" in found.found


def test_a_folder_of_runs_that_is_mine_alone_is_well_whether_made_yet_or_not() -> None:
    for end in (folder(), None):
        assert [found.severity for found in root_findings(end, folder("/", owner=0, group=0))] == [
            Severity.OK
        ]


def test_what_is_no_folder_is_told_as_that_alone() -> None:
    facts = FolderFacts(path="/r", is_folder=False, owner=OTHER, group=0, mode=0o777)
    (found,) = root_findings(facts)
    assert (found.severity, "no folder" in found.found) == (Severity.ERROR, True)


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


def test_each_trial_that_failed_is_told() -> None:
    trials = [Trial(what="a"), Trial(what="b", failure="no"), Trial(what="c", failure="never")]
    found = judge_trials("/r", trials)
    assert [(finding.severity, finding.found.split()[0]) for finding in found] == [
        (Severity.ERROR, "b"),
        (Severity.ERROR, "c"),
    ]
    (found_well,) = judge_trials("/r", trials[:1])
    assert found_well.severity is Severity.OK


def test_a_leftover_needs_attention_until_it_is_cleared() -> None:
    leftovers = [Leftover(path="/r/x", fate=fate, why="because") for fate in Fate]
    found = {leftover.fate: judge_leftovers([leftover])[0] for leftover in leftovers}
    assert {fate for fate, finding in found.items() if needs_attention([finding])} == {Fate.LEFT, Fate.KEPT}
    assert "--fix" in (found[Fate.LEFT].remedy or "")
    assert "because" in found[Fate.KEPT].found
    assert len(judge_leftovers(leftovers)) == len(leftovers)
    assert not needs_attention(judge_leftovers([]))


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
