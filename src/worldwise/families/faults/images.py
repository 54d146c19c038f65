# SPDX-License-Identifier: BSD-2-Clause
"""The machine of the app `faults`: its programs wait, with a limit, for a tee-supplicant that starts anew."""

from worldwise.targets.families import Images, always

IMAGES = Images(waits_for_timers=always)
