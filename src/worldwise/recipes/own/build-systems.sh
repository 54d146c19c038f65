# SPDX-License-Identifier: BSD-2-Clause
# In the root `builders`: CMake, Meson and Ninja with what they need besides the C library, as one archive. Builds unpack it
# beside themselves and run it in the lab, with the lab's compilers.
. /in/recipes/common.sh

mkdir -p builders/bin builders/lib builders/share builders/meson
cp /usr/bin/cmake /usr/bin/ninja builders/bin/
cp -r /usr/share/cmake-* builders/share/
cp -r /usr/lib/python3/dist-packages/mesonbuild builders/meson/
cp /usr/bin/meson builders/meson/meson.py
find builders -name __pycache__ -prune -exec rm -rf {} +
for program in cmake ninja; do ldd "/usr/bin/$program"; done | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u |
	while read -r library; do cp -L "$library" builders/lib/; done
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf /out/builders.tar builders
