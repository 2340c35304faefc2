"""The operator's consent: for this very request, or for none."""

import pytest
from hypothesis import given

from core.strategies import requests
from sandbox_pin import SandboxMode, SandboxRequest
from sandbox_pin.core.consent import Consent


@given(requests)
def test_without_the_flag_nothing_is_accepted(request_: SandboxRequest) -> None:
    assert not Consent().covers(request_)
    for mode in SandboxMode:
        assert not Consent(mode=mode).covers(request_)


@given(requests)
def test_the_bare_flag_accepts_whatever_is_asked_for(request_: SandboxRequest) -> None:
    assert Consent(given=True).covers(request_)


@pytest.mark.parametrize("accepted", list(SandboxMode))
@pytest.mark.parametrize("asked", list(SandboxMode))
def test_a_named_mode_is_accepted_alone(accepted: SandboxMode, asked: SandboxMode) -> None:
    """A file that was changed after the refusal is not accepted unseen."""
    assert Consent(given=True, mode=accepted).covers(SandboxRequest(mode=asked)) == (accepted is asked)
