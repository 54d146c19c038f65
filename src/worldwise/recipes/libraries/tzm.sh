# SPDX-License-Identifier: BSD-2-Clause
# PLAN says what is compiled and linked, in JSON: see tzm.py beside this file, which does it.
. /in/recipes/common.sh
. /in/recipes/unpacked.sh

exec python3 /in/recipes/tzm.py
