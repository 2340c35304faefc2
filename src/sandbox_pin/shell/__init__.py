"""The half that touches the world: files, locks, processes, the host.

Public for orchestrators that keep their own state and start their own processes:

1. ``create_logged_pin`` is a run's first pin and ``apply_request`` the whole rule, each in one call;
   ``apply_decision`` carries out a decision that was made purely. They work over a log of two methods
   (``RunLog``); ``encode_line`` and ``decode_line`` are the text of one entry, without its line end.
   ``write_file`` replaces a file durably; ``now`` and ``operator_name`` tell when and who.
2. ``gather_item``, ``gather_tree`` and ``judge_placement`` say what a launch could change.
3. ``probe_host`` and ``pass_gate`` say what becomes of a launch; ``launch_arguments`` turns that into one.
"""

from importlib import import_module
from types import ModuleType

try:
    _unix: ModuleType = import_module("fcntl")  # every module that locks needs it
except ModuleNotFoundError:
    raise ImportError(
        "sandbox_pin.shell needs Linux: this Python has no fcntl. "
        "The rule alone, `import sandbox_pin`, works on any system.",
        name=__name__,
    ) from None

from sandbox_pin.core.describe import describe_decision, describe_held
from sandbox_pin.core.event import Entry
from sandbox_pin.core.gate import (
    Capable,
    Enforce,
    GateDecision,
    HostCapability,
    Incapable,
    RefuseLaunch,
    RunUnenforced,
    pass_gate,
)
from sandbox_pin.core.log_line import Garbage, decode_line, encode_line
from sandbox_pin.core.placement import (
    Item,
    ItemRole,
    LaunchTree,
    Violation,
    describe_violation,
    judge_placement,
)
from sandbox_pin.shell.apply import Applied, RunLog, SavePin, apply_decision
from sandbox_pin.shell.bubblewrap import Profile, Report, open_memory, read_report
from sandbox_pin.shell.config import ConfigurationFile, load_configuration
from sandbox_pin.shell.durable import write_file
from sandbox_pin.shell.embedding import apply_request, create_logged_pin
from sandbox_pin.shell.host import find_bubblewrap, probe_host
from sandbox_pin.shell.launch import launch_arguments
from sandbox_pin.shell.placement import gather_item, gather_tree, interpreter_and_package
from sandbox_pin.shell.run_log import FileRunLog
from sandbox_pin.shell.surroundings import now, operator_name

__all__ = [
    "Applied",
    "Capable",
    "ConfigurationFile",
    "Enforce",
    "Entry",
    "FileRunLog",
    "Garbage",
    "GateDecision",
    "HostCapability",
    "Incapable",
    "Item",
    "ItemRole",
    "LaunchTree",
    "Profile",
    "RefuseLaunch",
    "Report",
    "RunLog",
    "RunUnenforced",
    "SavePin",
    "Violation",
    "apply_decision",
    "apply_request",
    "create_logged_pin",
    "decode_line",
    "describe_decision",
    "describe_held",
    "describe_violation",
    "encode_line",
    "find_bubblewrap",
    "gather_item",
    "gather_tree",
    "interpreter_and_package",
    "judge_placement",
    "launch_arguments",
    "load_configuration",
    "now",
    "open_memory",
    "operator_name",
    "pass_gate",
    "probe_host",
    "read_report",
    "write_file",
]
