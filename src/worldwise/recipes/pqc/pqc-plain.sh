# SPDX-License-Identifier: BSD-2-Clause
# One scheme of a library as a program of plain Linux. PLAN says what is compiled and linked, in JSON: see pqc-plain.py
# beside this file, which does it.
. /in/recipes/common.sh

. /in/recipes/plain.sh
exec python3 /in/recipes/pqc-plain.py
