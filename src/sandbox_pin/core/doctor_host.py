"""What stands in the way of a sandbox on this host, and what to do about each cause that is known."""

from typing import Final, assert_never

from msgspec import Struct

from sandbox_pin.core.describe import describe_host
from sandbox_pin.core.doctor_finding import Finding, Severity, Subject, make_finding
from sandbox_pin.core.gate import Capable, HostCapability, Incapable

INSTALL: Final = (
    "Install the system's package: apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), "
    "pacman -S bubblewrap (Arch); or pip install 'sandbox-pin[bubblewrap]'."
)


class HostSettings(Struct, frozen=True, kw_only=True):
    """What the kernel says about user namespaces; ``None``: it has no such setting.

    Attributes:
        max_user_namespaces: how many there may be (sysctl ``user.max_user_namespaces``, namespaces(7)).
        unprivileged_userns_clone: whether ordinary users may make them (``kernel.unprivileged_userns_clone``,
            a patch of Debian's kernels).
        apparmor_restrict: whether ordinary users' may do nothing, unless an AppArmor profile lets them
            (``kernel.apparmor_restrict_unprivileged_userns``, AppArmor 4).
        filtered: whether system calls are filtered, as containers do (``Seccomp`` in proc_pid_status(5)).
        is_root: whether this process is the superuser's; the settings for ordinary users do not bind it.
    """

    max_user_namespaces: int | None = None
    unprivileged_userns_clone: int | None = None
    apparmor_restrict: int | None = None
    filtered: bool = False
    is_root: bool = False


def judge_host(host: HostCapability, settings: HostSettings, *, program: str | None) -> list[Finding]:
    """What the host can enforce; where it can't, the causes that are known, each with its remedy.

    Args:
        host: what the trial launch found.
        settings: the kernel's.
        program: the path of bwrap, where there is one.
    """
    match host:
        case Capable():
            return [make_finding(Subject.HOST, describe_host(host))]
        case Incapable(missing=missing, remedy=remedy):
            remedies = [INSTALL] if program is None else [*_causes(missing, settings)] or [remedy]
            found = f"can't enforce: {missing}"
            return [make_finding(Subject.HOST, found, " ".join(remedies), severity=Severity.ERROR)]
        case _:
            assert_never(host)


def _causes(missing: str, settings: HostSettings) -> list[str]:
    """What to do about each setting that alone is enough to make the trial end as it did."""
    # A /proc that can't be mounted, say, has nothing to do with these settings, whatever they are.
    if "user namespaces" not in missing:
        return []
    found: list[str] = []
    if settings.max_user_namespaces == 0:
        found.append(
            "user.max_user_namespaces is 0: as root, sysctl -w user.max_user_namespaces=15000, "
            "and the same line in /etc/sysctl.d/ for the next boot."
        )
    if settings.unprivileged_userns_clone == 0 and not settings.is_root:
        found.append(
            "kernel.unprivileged_userns_clone is 0: as root, sysctl -w kernel.unprivileged_userns_clone=1, "
            "and the same line in /etc/sysctl.d/ for the next boot."
        )
    if settings.apparmor_restrict == 1 and not settings.is_root:
        found.append(
            "kernel.apparmor_restrict_unprivileged_userns is 1: give bwrap an AppArmor profile that allows "
            "userns (better), or as root, sysctl -w kernel.apparmor_restrict_unprivileged_userns=0."
        )
    if settings.filtered and not found:
        found.append(
            "The system calls of this process are filtered, as in a container: let the container's security "
            "profile allow user namespaces (docker, podman: --security-opt seccomp=unconfined, or a profile)."
        )
    return found
