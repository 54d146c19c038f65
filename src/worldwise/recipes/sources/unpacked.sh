# SPDX-License-Identifier: BSD-2-Clause
# Lays down source packages that were unpacked before (/in/unpacked-NAME), each in a folder of its name.
for archive in /in/unpacked-*/source.tar; do
	[[ -e $archive ]] || continue
	package=${archive%/source.tar}
	package=${package#/in/unpacked-}
	mkdir "$package"
	tar -xf "$archive" -C "$package"
done
