# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of cryptography in a TA include."""

from worldwise.read.includes import on_curves
from worldwise.read.readings import Readings

READINGS = Readings(includes=on_curves(("keygen", "sign", "verify", "ecdh"), ("ta", "client", "linux")))
