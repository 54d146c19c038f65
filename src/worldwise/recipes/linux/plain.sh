# SPDX-License-Identifier: BSD-2-Clause
# What the programs of plain Linux are built from: source packages and the bench.
. /in/recipes/unpacked.sh
. /in/recipes/guest.sh
