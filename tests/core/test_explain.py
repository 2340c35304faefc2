"""What a failed decoding means, in words that an operator can act on."""

import pytest

from sandbox_pin import StateError, decode_pin
from sandbox_pin.core.log_line import decode_line

OFF = '{"schema":1,"mode":"off","source":"created","recorded_at":"x"}'
PIN = '{"schema":1,"mode":"required","source":"created","recorded_at":"x"}'
COMMON = f'"at":"x","run":"r","kind":"local","pin":{PIN}'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"event":"launch_ended","at":"x","run":"r","kind":"local","pin":5}', "pin: found 5"),
        (f'{{"event":"nap",{COMMON}}}', 'event: found "nap"; expected an event that this version knows'),
        (f'{{"event":"run_recovered",{COMMON},"before":null,"kept":[1]}}', "kept.*str"),
        (
            f'{{"event":"launch_ended","at":"x","run":"r","kind":"local","pin":{OFF}}}',
            'pin.mode: found "off"; expected one of disabled, preferred, required',
        ),
        # The first of two is what could not be decoded, and the last is what stands there.
        (
            f'{{"event":"launch_ended","pin":{OFF},"pin":5}}',
            "pin.mode: .*; expected one of disabled, preferred, required",
        ),
        (f'{{"event":"launch_ended",{COMMON},"extra":1}}', "extra: an unknown key"),
        (f'{{"event":"launch_ended",{COMMON}}}', "ran: missing"),
    ],
)
def test_a_damaged_entry_names_the_field_and_what_stands_there(line: str, words: str) -> None:
    with pytest.raises(StateError, match=words):
        _ = decode_line(line.encode())


def test_what_stands_there_is_cut_to_a_lines_length() -> None:
    """A planted value of a megabyte does not fill the operator's terminal."""
    with pytest.raises(StateError) as caught:
        _ = decode_pin(PIN.replace("required", "a" * 1_000_000))
    assert len(str(caught.value)) < 200


def test_a_text_that_is_no_unicode_is_not_told_as_cut_short() -> None:
    with pytest.raises(StateError, match="surrogate"):
        _ = decode_pin(PIN.replace('"x"', r'"\ud83d"'))
