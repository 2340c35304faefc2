"""What every test shares: how hard hypothesis tries."""

from hypothesis import settings

# A shared machine is slow at times, so no example has a deadline; a failure prints how to play it again.
settings.register_profile("sandbox_pin", deadline=None, derandomize=False, max_examples=30, print_blob=True)
settings.load_profile("sandbox_pin")
