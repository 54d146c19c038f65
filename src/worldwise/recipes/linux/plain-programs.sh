# SPDX-License-Identifier: BSD-2-Clause
# One library on one curve as a program of plain Linux, linked statically. PLAN says what is compiled and linked, in JSON:
# see plain-programs.py beside this file, which does it. LIBRARIES are packages that have it compiled.
. /in/recipes/common.sh

. /in/recipes/plain.sh
for package in ${LIBRARIES:-}; do dpkg-deb -x "/in/$package.deb" packages; done

exec python3 /in/recipes/plain-programs.py
