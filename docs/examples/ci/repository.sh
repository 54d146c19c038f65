#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures what a repository's worldwise.toml says, as it was and as proposed, and writes report/comment.md, and
# report/marks.sarif with the lines that are to be marked:
#
#   repository.sh BASE   in a folder with the checkouts `proposed` (with its history) and `worldwise`; BASE is a commit of
#                        the branch that the proposal is for, and the commit at which both parted is what it is compared
#                        with. The status is that of the comparison: 3 if something got dearer.
#
# What the proposal builds runs in worldwise's sandbox: nothing of it runs here.
set -eu
worldwise=$(realpath "${WORLDWISE:-worldwise/worldwise}")
proposed=$PWD/proposed was=$PWD/was out=$PWD
mkdir -p report

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
	>/dev/null || [ $? -eq 3 ]
exit "$status"
