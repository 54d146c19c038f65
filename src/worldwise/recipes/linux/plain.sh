# SPDX-License-Identifier: BSD-2-Clause
# What the programs of plain Linux are built from: source packages (PACKAGES), unpacked before, and the bench.
for package in $PACKAGES; do
	mkdir "$package"
	tar -xf "/in/unpacked-$package/source.tar" -C "$package"
done
. /in/recipes/guest.sh
