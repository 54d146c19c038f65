# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of cryptography in a TA include."""

from worldwise.read.readings import Readings, on_curves

READINGS = Readings(includes=on_curves(("keygen", "sign", "verify", "ecdh"), ("ta", "client", "linux")))
