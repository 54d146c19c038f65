# SPDX-License-Identifier: BSD-2-Clause
# Shared by the recipes: each runs in the lab, in an empty /build, with its inputs below /in.
set -euo pipefail
umask 022

say() { printf '== %s\n' "$*"; }

# Applies Debian's changes, of the folder debian/ in it, to an unpacked source.
apply_debian() { # FOLDER
	local change
	[[ -e $1/debian/patches/series ]] || return 0
	while read -r change _; do
		case $change in '' | '#'*) continue ;; esac
		say "Debian: $change"
		patch --quiet --fuzz=0 -d "$1" -p1 <"$1/debian/patches/$change"
	done <"$1/debian/patches/series"
}
