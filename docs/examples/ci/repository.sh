#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures what a repository's worldwise.toml says, as it was and as proposed, and writes report/comment.md, and
# report/marks.sarif with the lines that are to be marked:
#
#   repository.sh BASE   in a folder with the checkouts `proposed` (with its history) and `worldwise`; BASE is a commit of
#                        the branch that the proposal is for, and the commit at which both parted is what it is compared
#                        with. The status is that of the comparison: 3 if something got dearer. LINK is where the job's
#                        artefacts can be seen: the comment links the pictures and pages in `report` there.
#
# What the proposal builds runs in worldwise's sandbox: nothing of it runs here.
set -eu
worldwise=$(realpath "${WORLDWISE:-worldwise/worldwise}")
proposed=$PWD/proposed was=$PWD/was out=$PWD
rm -rf report runs-was runs-proposed
mkdir report

git -C "$proposed" worktree add --force --detach "$was" "$(git -C "$proposed" merge-base "$1" HEAD)"
# A limit that was exceeded before (3) is not the proposal's.
"$worldwise" run "$was" --save-baseline merge-base --runs "$out/runs-was" || [ $? -eq 3 ]
# What the proposal has there may be a link.
rm -rf "$proposed/baselines"
mkdir "$proposed/baselines"
cp "$was/baselines/merge-base.toml" "$proposed/baselines/"
status=0
"$worldwise" run "$proposed" --baseline merge-base --runs "$out/runs-proposed" --sarif "$out/report/marks.sarif" ||
	status=$?
cd "$proposed"
"$worldwise" compare latest --baseline merge-base --runs "$out/runs-proposed" --write "markdown=$out/report/comment.md" \
	--write "csv=$out/report/rows.csv" >/dev/null || [ $? -eq 3 ]

# A picture of the row that grew most, and the whole report: extra files, without which the comment is no less true.
cd "$out"
case=$(awk -F, 'NR > 1 && $NF == "true" {print $13, $1}' report/rows.csv | sort -gr | head -n 1 | cut -d ' ' -f 2)
made=
if [ -n "$case" ] && "$worldwise" diff runs-was/* runs-proposed/* --case "$case" --format flame \
	--output report/difference.svg; then
	made="\`difference.svg\`, the differential flame graph of $case"
fi
if "$worldwise" report runs-proposed/* --format html --output report/report.html; then
	made="${made:+$made; }\`report.html\`, all counts of the proposal"
fi
if [ -n "${LINK:-}" ] && [ -n "$made" ]; then
	printf '\n[Artefacts](%s): %s.\n' "$LINK" "$made" >>report/comment.md
fi
exit "$status"
