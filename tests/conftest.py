"""Settings of all tests: no example of a property is timed, since machines are busy.

CONSTRAIN_LONG asks for more examples of each property; CI sets it for its second run.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("short", deadline=None, max_examples=50)
settings.register_profile("long", deadline=None, max_examples=200)
settings.load_profile("long" if os.environ.get("CONSTRAIN_LONG") else "short")
