# SPDX-License-Identifier: BSD-2-Clause
# A user's OP-TEE application, unchanged: the client in /in/app/$CLIENT (empty for none), the TA in /in/app/$TA, each with its Makefile, or
# the client with the BUILD_FILE of CMake or Meson. They are built as OP-TEE's examples are; LEVEL is CFG_TEE_TA_LOG_LEVEL,
# empty for what the TA's Makefile says. TA_COMPILER is the prefix of the compiler that the dev kit is for.
# A line that begins with "worldwise: " is what the user is told.
. /in/recipes/common.sh
export HOME=/build CROSS_COMPILE=aarch64-linux-gnu-
. /in/recipes/own-builders.sh

fail() {
	echo "worldwise: $*"
	exit 1
}

cp -r /in/app app
chmod -R u+rwX app
mkdir -p devkit export/include export/lib sysroot out
tar -xf /in/optee/devkit.tar -C devkit
for package in libteec2 optee-client-dev; do dpkg-deb -x "/in/$package.deb" sysroot; done
cp -r sysroot/usr/include/. export/include/
cp -L sysroot/usr/lib/aarch64-linux-gnu/libteec.so* export/lib/
export PKG_CONFIG_SYSROOT_DIR=/build/sysroot PKG_CONFIG_LIBDIR=/build/sysroot/usr/lib/aarch64-linux-gnu/pkgconfig

say "trusted application"
settings=(-C "app/$TA" TA_DEV_KIT_DIR=/build/devkit CROSS_COMPILE="$TA_COMPILER" PYTHON3=python3 O=/build/out)
[[ -z $LEVEL ]] || settings+=(CFG_TEE_TA_LOG_LEVEL="$LEVEL")
make "${settings[@]}" || fail "the TA in $TA does not build; it has OP-TEE 4.10's TA dev kit and no network"
found=(out/*-*-*-*-*.ta)
[[ ${#found[@]} == 1 && -e ${found[0]} ]] || fail "$TA built ${#found[@]} TAs instead of one"
uuid=$(basename "${found[0]}" .ta)
cp "${found[0]}" /out/ta
cp "out/$uuid.elf" /out/ta.elf
level=$(make "${settings[@]}" --print-data-base --question 2>/dev/null |
	sed -n 's/^CFG_TEE_TA_LOG_LEVEL [:?]*= *\([0-9]\).*/\1/p' | tail -1) || true
printf '%s\n' "$uuid" >/out/uuid
printf '%s\n' "${level:-1}" >/out/level

# A further TA has no client of its own.
if [[ -z $CLIENT ]]; then
	touch /out/client /out/name /out/built
	exit 0
fi

say "client"
touch /build/before
words=''
case $BUILD_FILE in
CMakeLists.txt)
	add_build_systems /build/export
	cmake -S "app/$CLIENT" -B made -G Ninja -DTEEC_EXPORT=/build/export && cmake --build made ||
		fail "the client in $CLIENT does not build by CMake; it has libteec, the lab's C library, and no network"
	type=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' made/CMakeCache.txt)
	words="by CMake, ${type:+with the build type $type}"
	[[ -n $type ]] || words+="without a build type: what optimises it is CMakeLists.txt alone"
	;;
meson.build)
	add_build_systems /build/export
	meson setup made "app/$CLIENT" --cross-file worldwise && ninja -C made ||
		fail "the client in $CLIENT does not build by Meson; it has libteec, the lab's C library, and no network"
	words="by Meson, with the build type $(meson introspect --buildoptions made |
		python3 -c 'import json, sys; print(*(one["value"] for one in json.load(sys.stdin) if one["name"] == "buildtype"))')"
	;;
Makefile)
	words_of_make=(-C "app/$CLIENT" CROSS_COMPILE=aarch64-linux-gnu- TEEC_EXPORT=/build/export)
	if ! make --no-builtin-variables "${words_of_make[@]}" 2>&1 | tee make.log; then
		# Without make's own variables its rules are gone too, and some Makefiles name no other for their .o files.
		grep -q "No rule to make target '.*\.o'" make.log &&
			CC=aarch64-linux-gnu-gcc LD=aarch64-linux-gnu-ld AR=aarch64-linux-gnu-ar make "${words_of_make[@]}" ||
			fail "the client in $CLIENT does not build; it has libteec, the lab's C library, and no network"
	fi
	;;
esac
mkdir -p made
printf '%s\n' "$words" >/out/built
clients=()
while IFS= read -r -d '' file; do
	type=$(aarch64-linux-gnu-readelf -h "$file" 2>/dev/null | sed -n 's/^ *Type: *\([A-Z]*\).*/\1/p') || true
	[[ $(basename "$file") == *.so* || ($type != EXEC && $type != DYN) ]] || clients+=("$file")
done < <(find "app/$CLIENT" made \( -name CMakeFiles -o -name meson-private \) -prune -o -type f -newer /build/before -print0 | LC_ALL=C sort -z)
[[ ${#clients[@]} == 1 ]] || fail "$CLIENT built ${#clients[@]} programs instead of one: ${clients[*]##*/}"
cp "${clients[0]}" /out/client
printf '%s\n' "$(basename "${clients[0]}")" >/out/name
