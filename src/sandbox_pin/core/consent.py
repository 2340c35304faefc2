"""The operator's consent to a weaker request, for one command alone (design: "The flag")."""

from msgspec import Struct

from sandbox_pin.core.modes import SandboxMode
from sandbox_pin.core.request import SandboxRequest


class Consent(Struct, frozen=True, kw_only=True):
    """What ``--accept-config-change`` says.

    Attributes:
        given: whether the flag was given.
        mode: the one mode that is accepted; ``None``: whatever the request asks for.
    """

    given: bool = False
    mode: SandboxMode | None = None

    def covers(self, request: SandboxRequest) -> bool:
        """Whether this very request is accepted: a file changed after the refusal is not, unseen."""
        return self.given and self.mode in {None, request.mode}
