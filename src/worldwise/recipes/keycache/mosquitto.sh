# SPDX-License-Identifier: BSD-2-Clause
# The MQTT broker mosquitto with its command line clients and its headers, for the root itself, or for the machine by the
# compilers that CROSS_COMPILE names.
. /in/recipes/common.sh

mkdir source
tar -xf /in/mosquitto/*.orig.tar.* -C source --strip-components=1
cd source
# What the plugin's users need: no database, no web pages. One program has all it needs in itself.
without=(WITH_DOCS=no WITH_SQLITE=no WITH_HTTP_API=no WITH_WEBSOCKETS=no WITH_EDITLINE=no WITH_GMOCK=no)
for part in libcommon lib src client; do
	say "mosquitto: $part"
	make -C "$part" -j"$(nproc)" WITH_SHARED_LIBRARIES=no WITH_STATIC_LIBRARIES=yes "${without[@]}" \
		CC=gcc AR=ar CROSS_COMPILE="${CROSS_COMPILE:-}" >>/build/make.log 2>&1 || {
		tail -n 40 /build/make.log
		exit 1
	}
done
# Names stay, for those who look into the machine.
[[ -z ${CROSS_COMPILE:-} ]] || "${CROSS_COMPILE}strip" --strip-debug src/mosquitto
cp src/mosquitto client/mosquitto_pub client/mosquitto_sub /out/
cp -r include /out/include
# mosquitto.h includes it.
cp -r /usr/include/cjson /out/include/
