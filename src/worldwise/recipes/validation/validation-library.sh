# SPDX-License-Identifier: BSD-2-Clause
# One library of validation figures, by both compilers that its hardware figures name. LIBRARY names the source, GCC and
# CLANG the compilers, FIGURES the file of the source with the figures: it says which implementation the library chose
# for itself on that machine.
. /in/recipes/common.sh

mkdir tools source
printf '#!/bin/sh\nexec %s "$@"\n' "$GCC" >tools/gcc
printf '#!/bin/sh\nexec %s --target=aarch64-linux-gnu "$@"\n' "$CLANG" >tools/clang
for tool in ar ld nm objcopy ranlib readelf strip; do
	ln -s "$(command -v "aarch64-linux-gnu-$tool")" "tools/$tool"
done
chmod +x tools/gcc tools/clang
PATH=$PWD/tools:$PATH
# Ours is their randombytes.h.
export CPATH=/in/random

tar -xf /in/"$LIBRARY"/*.orig.tar.* -C source --strip-components=1
cd source
say "configure"
./configure --host=arm64 --no-trim --no-valgrind --no-tryifunc >/build/configure.log
rm build/arm64/scripts/selected
cp /in/recipes/validation-selected.py build/arm64/scripts/selected
chmod +x build/arm64/scripts/selected
cp "$FIGURES" build/arm64/figures
say "make"
make -C build/arm64 -j"$(nproc)" --quiet "package/lib/$LIBRARY.a" >/build/make.log 2>&1 || {
	tail -n 40 /build/make.log
	exit 1
}
cp -r build/arm64/package/include /out/include
cp "build/arm64/package/lib/$LIBRARY.a" /out/library.a
