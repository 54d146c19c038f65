# SPDX-License-Identifier: BSD-2-Clause
# The secure key cache. Its TA is of keycache/ta; its server, tools and libraries come built (/in/keycache-built: root/ is laid
# over the initramfs, dev/ is what a program is linked with).
mkdir -p /out/root
cp -r /in/keycache-built/root/. /out/root/
theirs=sysroot/usr/lib/aarch64-linux-gnu
if [[ -d /in/broker-built ]]; then
	cp -r /in/broker-built/root/. /out/root/
	# What is measured beside the TEE: no demo needs it.
	[[ -n ${MEASURED:-} ]] || rm /out/root/bin/keycached-native
	dpkg-deb -x /in/libc6.deb sysroot
	# libcjson needs it, and the machine's other programs do not.
	cp -L $theirs/libm.so.6 /out/root/lib/
fi
# With the design without cache and records, which is measured beside the cache; a product is built without.
ta_settings+=("CFG_KEYCACHE_MEASURING=y")
mkdir -p guest/apps/keycache/ta
cp -r /in/keycache/ta/. guest/apps/keycache/ta/
cp -r /in/keycache/include guest/apps/keycache/
if [[ -n ${MEASURED:-} ]]; then
	# Of this machine's programs nothing but what measures: what is added for another operation changes no count.
	rm -rf guest/apps/keycache/{linux,load.c,zipf.c,clients.c,clients.h}
	if [[ $MEASURED == keycache-mqtt ]]; then mqtt=1; else rm -r guest/apps/keycache/mqtt; fi
	# Regions in the TA and around the server's calls of it: their sources know nothing of them.
	cp guest/apps/keycache/measured/ta.c guest/apps/keycache/ta/measured.c
	echo 'global-incdirs-y += ../measured ../../../bench
srcs-y += measured.c' >>guest/apps/keycache/ta/sub.mk
	wrapped=(TA_InvokeCommandEntryPoint TEE_OpenPersistentObject TEE_CreatePersistentObject
		TEE_CloseAndDeletePersistentObject1 TEE_GetObjectInfo1 TEE_SeekObjectData TEE_ReadObjectData
		TEE_WriteObjectData TEE_CloseObject)
	ta_settings+=("LDADD=${wrapped[*]/#/--wrap=}")
	mkdir -p /out/root/{bin,lib/{server,measured}}
	aarch64-linux-gnu-gcc $strict -O2 -fPIC -fvisibility=hidden -shared -Isysroot/usr/include -Wl,-soname,libtick.so.2,-Bsymbolic \
		-o /out/root/lib/libtick.so.2 guest/apps/keycache/measured/server.c \
		-Wl,--no-as-needed sysroot/usr/lib/aarch64-linux-gnu/libteec.so
	# The server is the production one but for the name of this library in place of libteec's, which is as long.
	LC_ALL=C sed 's/libteec[.]so[.]2/libtick.so.2/' /in/keycache-built/root/sbin/keycached >/out/root/bin/keycached
	chmod 755 /out/root/bin/keycached
	[[ $(grep -c libtick.so.2 /out/root/bin/keycached) == 1 ]]
	# Libraries of its own for the server, and of its own for the client (rpath): the emulator takes a page for one address,
	# that of the process which executed it first.
	for package in libc6 libssl3t64; do dpkg-deb -x "/in/$package.deb" sysroot; done
	cp -L $theirs/{libc.so.6,libteec.so.2,libssl.so.3,libcrypto.so.3} /in/keycache-built/root/lib/lib{uv,hiredis}.so.* \
		/out/root/lib/libtick.so.2 /out/root/lib/server/
	cp -L $theirs/{libssl.so.3,libcrypto.so.3} /in/keycache-built/root/lib/libhiredis.so.* /out/root/lib/measured/
	if [[ -d /in/broker-built ]]; then
		mkdir /out/root/lib/broker
		cp -L $theirs/{libc.so.6,libm.so.6,libssl.so.3,libcrypto.so.3} /in/keycache-built/root/lib/libhiredis.so.* \
			/in/broker-built/root/lib/libcjson.so.* /out/root/lib/broker/
		# The plugin's own objects, with regions between them and libkeycache.
		aarch64-linux-gnu-gcc $strict -O2 -fPIC -fvisibility=hidden -shared -Wl,--wrap=keycache_relay \
			-I/in/keycache-built/dev/include -L/in/keycache-built/dev/lib -o /out/root/lib/broker/mosquitto_keycache.so \
			guest/apps/keycache/measured/plugin.c /in/broker-built/dev/plugin/*.o /in/broker-built/dev/plugin/libkeycache.a \
			-lhiredis -lssl -lcrypto
		cp /out/root/lib/broker/mosquitto_keycache.so /out/root/lib/measured/
	fi
fi

# What the client is linked with: what keycache/server has in common with it, and the library with what that stands on.
# Paths are as seen from guest/.
keycache_client="-Iapps/keycache/include -I/in/keycache/server -I/in/keycache/tests/policies -isystem /in/keycache-built/dev/include"
keycache_client="$keycache_client $(echo /in/keycache/{tests/policies/{workload,replay},server/policy,tests/policies/policy_lru,server/policy_s3fifo}.c)"
# What libcrypto itself is linked with is on the machine and not here.
keycache_library="-L/in/keycache-built/dev/lib -lkeycache -lhiredis -lssl -lcrypto \
	-Wl,-rpath-link,/in/keycache-built/dev/lib -Wl,--allow-shlib-undefined"
own() {
	local more=
	[[ " $* " != *' apps/keycache/client.c '* ]] || more="$keycache_client apps/echo/net.c $keycache_library"
	[[ -z $more || -z ${mqtt:-} ]] || more="apps/keycache/mqtt/*.c $more"
	# shellcheck disable=SC2086 # lists of flags
	aarch64-linux-gnu-gcc $strict -O2 "$@" $more
}

say "program of the demo"
cd guest
# shellcheck disable=SC2046 # a list of flags
own -no-pie $(libraries measured) -o /out/root/bin/keycache-demo apps/keycache/demo/demo.c apps/echo/net.c bench/*.c
cd ..

say "Linux program: steps of campaigns, and what is loaded into the server and tee-supplicant there"
# At addresses of its own: the emulator's debugger, which stops it somewhere, knows no processes.
linux_flags="-Wl,-Ttext-segment=0x4800000000 -DMAX_STORED_FILES=128 -Iapps/keycache/include -isystem /in/keycache-built/dev/include"
linux_libraries="apps/keycache/server.c apps/echo/net.c apps/faults/linux/store.c $keycache_library"
preload() { aarch64-linux-gnu-gcc $strict -O2 -fPIC -shared "$@"; }
preload "-DMAX_DATA=(300 * 1024)" -o /out/root/lib/journal.so guest/apps/faults/supplicant/journal.c guest/bench/semihost.c
preload -o /out/root/lib/shadow.so guest/apps/keycache/preload/shadow.c guest/bench/semihost.c
preload -o /out/root/lib/stop.so guest/apps/keycache/preload/stop.c
