# SPDX-License-Identifier: BSD-2-Clause
# What a machine with the broker has besides one with the key cache: mosquitto with the plugin, a shared library that it needs,
# and the key cache's server with the TA's code in its own process. The plugin's objects are in dev/ for who links them otherwise.
. /in/recipes/common.sh

triplet=aarch64-linux-gnu
make -C /in/keycache O="$PWD" CC=$triplet-gcc AR=$triplet-ar MOSQUITTO=/in/mosquitto plugin "$PWD/keycached-native"
dpkg-deb -x /in/libcjson1.deb packages

mkdir -p built/root/{bin,lib} built/dev/plugin
cp /in/mosquitto/mosquitto built/root/bin/
cp keycached-native built/root/bin/
cp mosquitto_keycache.so built/root/lib/
cp -L "packages/usr/lib/$triplet/libcjson.so.1" built/root/lib/
cp mosquitto/*.o libkeycache.a built/dev/plugin/
cp -r /in/mosquitto/include built/dev/include
"$triplet-strip" --strip-debug built/root/bin/keycached-native built/root/lib/mosquitto_keycache.so
chmod -R u=rwX,go=rX built
cp -r built /out/
