"""What the operator asks of one command, and the request that comes of it."""

import os

from msgspec import Struct

from sandbox_pin.core.consent import Consent
from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.core.request import SandboxRequest, make_request
from sandbox_pin.shell.config import ConfigurationFile, load_configuration


class Asked(Struct, frozen=True, kw_only=True):
    """The options that the commands share.

    Attributes:
        config: the configuration file, where one is named.
        mode: the mode that the command line gives; it goes before the file's.
        consent: whether a weaker request is accepted.
        writable: further folders that the launch may write.
    """

    config: str | None = None
    mode: SandboxMode | None = None
    consent: Consent = Consent()
    writable: tuple[str, ...] = ()


class Requested(Struct, frozen=True, kw_only=True):
    """The request, and the very file that it was read from."""

    configuration: ConfigurationFile | None
    request: SandboxRequest


def read_request(asked: Asked) -> Requested:
    """Reads the configuration afresh, as every command does.

    Raises:
        ConfigurationError: it does not say one clear thing; a named file never falls back to the default.
    """
    configuration = None
    if asked.config is not None:
        # The log keeps the path, and a relative one means another file in each folder. Nothing is normalized:
        # what `..` leads to is the file system's to say.
        configuration = load_configuration(os.path.join(os.getcwd(), asked.config))
    request = make_request(
        None if configuration is None else configuration.configuration, mode_flag=asked.mode
    )
    return Requested(configuration=configuration, request=request)
