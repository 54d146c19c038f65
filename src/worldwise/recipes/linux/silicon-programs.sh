# SPDX-License-Identifier: BSD-2-Clause
# As plain-programs.sh, for a host of its own: see silicon-programs.py.
. /in/recipes/common.sh

. /in/recipes/plain.sh
for package in ${LIBRARIES:-}; do dpkg-deb -x "/in/$package.deb" packages; done

exec python3 /in/recipes/silicon-programs.py
