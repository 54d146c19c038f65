# SPDX-License-Identifier: BSD-2-Clause
"""Runs a script of OP-TEE that signs a TA, and has it take its private key as it is.

    python3 unchecked-key.py SCRIPT ARGUMENTS

Else the script looks whether the factors of the key are primes, which takes longer than all the rest that it does. The
key is OP-TEE's own, which everybody knows.
"""

import functools
import runpy
import sys
from pathlib import Path

from cryptography.hazmat.primitives import serialization

serialization.load_pem_private_key = functools.partial(
    serialization.load_pem_private_key, unsafe_skip_rsa_key_validation=True
)
del sys.argv[0]
sys.path[0] = str(Path(sys.argv[0]).parent)
runpy.run_path(sys.argv[0], run_name="__main__")
