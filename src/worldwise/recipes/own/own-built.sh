# SPDX-License-Identifier: BSD-2-Clause
# What a user's own build leaves: COMMANDS run in the folder FOLDER of a copy of the sources, then each of FILES (paths in
# that folder, a line for each) is taken by its number. CROSS_COMPILE and CC are for the measured machine.
# A line that begins with "worldwise: " is what the user is told.
. /in/recipes/common.sh
export HOME=/build
. /in/recipes/own-builders.sh

fail() {
	echo "worldwise: $*"
	exit 1
}

cp -r /in/source source
chmod -R u+rwX source
root=$(realpath source)
[[ -d source/$FOLDER ]] || fail "$FOLDER: is no folder"
cd "source/$FOLDER"
export CROSS_COMPILE CC=${CROSS_COMPILE}gcc CXX=${CROSS_COMPILE}g++ AR=${CROSS_COMPILE}ar
# CMake takes its toolchain file from the environment; Meson is given it by --cross-file worldwise.
[[ ! -e /in/builders.tar ]] || add_build_systems
bash -euc "$COMMANDS" </dev/null || fail "the build ended with status $?; it has the lab's compilers and no network"
number=0
while IFS= read -r file; do
	# A shared library's name is a link to the file with its version.
	at=$(realpath -e -- "$file" 2>/dev/null) || fail "the build left no file $file"
	[[ -f $at && $at == "$root"/* ]] || fail "the build left no file $file"
	rm -rf "/out/$number"
	cp -- "$at" "/out/$number"
	number=$((number + 1))
done <<<"$FILES"
