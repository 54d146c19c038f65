#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The steps that continuous integration takes for a library: github.yml and gitlab.yml beside this call it, and so can
# anybody, in a folder with the library's checkouts `baseline` and `proposed` and worldwise's `worldwise`.
#
#   ci.sh measure SIDE I/N   measure one shard of the library in the checkout SIDE; the run comes into SIDE-runs
#   ci.sh gate [FROM]        merge the shards of both sides, which lie in FROM, and compare; status 3 if one got slower
#   ci.sh history DIR [FROM] keep the proposed side's merged run, which lies in FROM, in DIR/runs, and make the site
#                            DIR/public of all kept
#
# A library's script `collect.sh` may be a stranger's. It runs in the lab, without network, and sees a copy of its own
# checkout and nothing else: no token, no file of the runner, no run.
#
# SUITE is what is measured, CHOICE further options of `worldwise run`, LIMIT what may be added; see below.
set -eu
worldwise=${WORLDWISE:-worldwise/worldwise}
suite=${SUITE:-mcu}
choice=${CHOICE:---target nucleo-f446re}
limit=${LIMIT:-0%}

# Status 1 is a failed case too, and 3 a budget that is not met: the comparison says that of both sides. A run that was
# never begun has no folder.
measured() {
	[ "$1" -eq 3 ] || { [ "$1" -eq 1 ] && ls "$2" >/dev/null; }
}

merged() {
	"$worldwise" merge "$from/$1"-runs/*-shard-* --runs "$1-merged" >/dev/null || measured $? "$1-merged"
}

case ${1:-} in
measure)
	side=$2 shard=$3
	rm -rf "$side-collected"
	mkdir "$side-collected"
	cp -RP "$side" "$side-collected/$side"
	# shellcheck disable=SC2016 # the lab's shell expands it
	"$worldwise" lab enter --lend "$side-collected" \
		sh -c 'cd "$1-collected" && exec "./$1/worldwise/collect.sh" library' sh "$side"
	if [ -L "$side-collected/library" ] || [ ! -d "$side-collected/library" ]; then
		echo "ci.sh: collect.sh of $side made no folder" >&2
		exit 2
	fi
	# Words, and patterns that are worldwise's to match.
	set -f
	# shellcheck disable=SC2086
	"$worldwise" run "$suite" --implementation "$side-collected/library" $choice --shard "$shard" \
		--runs "$side-runs" || measured $? "$side-runs"
	;;
gate)
	from=${2:-.}
	rm -rf baseline-merged proposed-merged
	merged baseline
	merged proposed
	"$worldwise" compare baseline-merged/* proposed-merged/* --fail-above "$limit" \
		--write markdown=summary.md --write junit=gate.xml --write bencher=bencher.json
	;;
history)
	mkdir -p "$2/runs"
	cp -R "${3:-.}/proposed-merged"/* "$2/runs/"
	"$worldwise" site "$2/public" --runs "$2/runs"
	;;
*)
	sed -n '3,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
