# SPDX-License-Identifier: BSD-2-Clause
# PLAN says for which board and curves, in JSON: see frame.py beside this file, which does it.
. /in/recipes/common.sh
. /in/recipes/unpacked.sh

exec python3 /in/recipes/frame.py
