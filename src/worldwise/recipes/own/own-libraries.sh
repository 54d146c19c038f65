# SPDX-License-Identifier: BSD-2-Clause
# The shared libraries of PACKAGES, packages of the lab for the measured machines: each under the name by which programs ask.
. /in/recipes/common.sh

for package in $PACKAGES; do dpkg-deb -x "/in/$package.deb" packages; done
library=packages/usr/lib/aarch64-linux-gnu
for file in "$library"/*.so.* "$library"/ld-linux-aarch64.so.1; do
	[[ ! -f $file ]] || cp -L "$file" /out/
done
# What libcrypto loads by itself.
[[ ! -d $library/ossl-modules ]] || cp "$library"/ossl-modules/*.so /out/
# The compiler's own, of the lab: C++, and threads that end.
cp -L /usr/aarch64-linux-gnu/lib/libgcc_s.so.1 /usr/aarch64-linux-gnu/lib/libstdc++.so.6 /out/
