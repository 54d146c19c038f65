# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages of keycache/ for ARCHITECTURE, cross-built from its debian/ as anybody builds them. A TA that is seen
# as /in/keycache.ta comes into the server's package.
. /in/recipes/common.sh

cp -r /in/keycache source
[[ ! -e /in/keycache.ta ]] || export KEYCACHE_TA=/in/keycache.ta
# There is nothing here that could run them.
export DEB_BUILD_OPTIONS=nocheck
profiles=()
if [[ -e /in/mosquitto ]]; then
	# Its headers come from a source that is no package of this root: nothing to check the plugin's dependency with.
	mkdir mosquitto
	ln -s /in/mosquitto mosquitto/include
	export MOSQUITTO=$PWD/mosquitto
	profiles=(--build-profiles=pkg.keycache.mosquitto --no-check-builddeps)
fi
(cd source && dpkg-buildpackage --build=any "${profiles[@]}" --host-arch="$ARCHITECTURE" --unsigned-changes --unsigned-buildinfo)
mkdir /out/packages
mv ./*.deb /out/packages/
