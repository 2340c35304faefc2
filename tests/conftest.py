"""What every test shares: how hard hypothesis tries, and that signals mean what they mean at a terminal."""

import signal

from hypothesis import settings

# Whoever starts the tests under nohup, or in a script's background, hands on that these are to be ignored.
for number, meaning in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        _ = signal.signal(number, meaning)

# A shared machine is slow at times, so no example has a deadline; a failure prints how to play it again.
settings.register_profile("sandbox_pin", deadline=None, derandomize=False, max_examples=30, print_blob=True)
settings.load_profile("sandbox_pin")
