# SPDX-License-Identifier: BSD-2-Clause
# What AES is compiled with in Linux. The libraries of OP-TEE's core are measured from the TA alone.
case $IMPLEMENTATION in
mbedtls36*)
	# Debian's source in its default configuration, which has the code for the extension; without it in the other.
	extension=1
	if [[ $IMPLEMENTATION != *-ce ]]; then
		extension=0
		sed -i 's,^#define MBEDTLS_AESCE_C,//&,' mbedtls/include/mbedtls/mbedtls_config.h
	fi
	say "mbed TLS"
	mkdir aes-library
	compile="aarch64-linux-gnu-gcc -std=c99 -w -g -fno-pie -O${OPTIMISATION#O} -Imbedtls/include -Imbedtls/library"
	# The cipher layer, and the ciphers that its table names: without any of them the linker complains.
	for part in aes aesce aria block_cipher camellia ccm chacha20 chachapoly cipher cipher_wrap cmac constant_time des gcm \
		nist_kw platform_util poly1305; do
		$compile -c "mbedtls/library/$part.c" -o "aes-library/$part.o"
	done
	aarch64-linux-gnu-ar rcs libaes.a aes-library/*.o
	# Our own file, seen through the library's headers.
	(cd guest && own -DAES_EXTENSION=$extension -isystem ../mbedtls/include -c apps/aes/linux/library/mbedtls.c -o ../library.o)
	linux_libraries="../library.o ../libaes.a"
	;;
openssl*)
	extension=1
	[[ $IMPLEMENTATION == *-ce ]] || extension=0
	mkdir aes-library
	dpkg-deb -x /in/libssl-dev.deb aes-library
	dpkg-deb -x /in/libssl3t64.deb aes-library
	around="-isystem ../aes-library/usr/include -isystem ../aes-library/usr/include/aarch64-linux-gnu"
	# shellcheck disable=SC2086 # a list of flags
	(cd guest && own -DAES_EXTENSION=$extension $around -c apps/aes/linux/library/openssl.c -o ../library.o)
	# What libcrypto itself is linked with is on the machine and not here.
	linux_libraries="../library.o ../aes-library/usr/lib/aarch64-linux-gnu/libcrypto.so.3 -Wl,--allow-shlib-undefined"
	;;
*)
	rm -r guest/apps/aes/linux
	;;
esac
# shellcheck disable=SC2034 # for the recipe that reads this
linux_flags="-DAES_LIBRARY=\"$IMPLEMENTATION\" apps/aes/case.c apps/aes/known.c"
