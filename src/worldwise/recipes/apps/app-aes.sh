# SPDX-License-Identifier: BSD-2-Clause
# What AES is compiled with in Linux, for TRIPLET. The libraries of OP-TEE's core are measured from the TA alone. With STATIC a
# packaged library is linked from its archives, of packages that are unpacked in aes-library.
: "${TRIPLET:=aarch64-linux-gnu}"
case $IMPLEMENTATION in
mbedtls36*)
	# Debian's source in its default configuration, which has the code for the extension; without it in the other.
	extension=1
	if [[ $IMPLEMENTATION != *-ce ]]; then
		extension=0
		sed -i 's,^#define MBEDTLS_AESCE_C,//&,' mbedtls/include/mbedtls/mbedtls_config.h
	fi
	say "mbed TLS"
	mkdir -p aes-library
	compile="$TRIPLET-gcc ${FLAGS:-} -std=c99 -w -g -fno-pie -O${OPTIMISATION#O} -Imbedtls/include -Imbedtls/library"
	# The cipher layer, and the ciphers that its table names: without any of them the linker complains.
	for part in aes aesce aria block_cipher camellia ccm chacha20 chachapoly cipher cipher_wrap cmac constant_time des gcm \
		nist_kw platform_util poly1305; do
		$compile -c "mbedtls/library/$part.c" -o "aes-library/$part.o"
	done
	"$TRIPLET-ar" rcs libaes.a aes-library/*.o
	# Our own file, seen through the library's headers.
	(cd guest && own -DAES_EXTENSION=$extension -isystem ../mbedtls/include -c apps/aes/linux/library/mbedtls.c -o ../library.o)
	linux_libraries="../library.o ../libaes.a"
	;;
openssl*)
	extension=1
	[[ $IMPLEMENTATION == *-ce ]] || extension=0
	mkdir -p aes-library
	[[ -n ${STATIC:-} ]] || for package in libssl-dev libssl3t64; do dpkg-deb -x "/in/$package.deb" aes-library; done
	headers="-isystem ../aes-library/usr/include -isystem ../aes-library/usr/include/$TRIPLET"
	# shellcheck disable=SC2086 # a list of flags
	(cd guest && own -DAES_EXTENSION=$extension $headers -c apps/aes/linux/library/openssl.c -o ../library.o)
	folder=../aes-library/usr/lib/$TRIPLET
	if [[ -n ${STATIC:-} ]]; then
		linux_libraries="../library.o $folder/libcrypto.a $folder/libz.a $folder/libzstd.a -Wl,--no-warnings"
	else
		# What libcrypto itself is linked with is on the machine and not here.
		linux_libraries="../library.o $folder/libcrypto.so.3 -Wl,--allow-shlib-undefined"
	fi
	;;
*)
	rm -r guest/apps/aes/linux
	;;
esac
# shellcheck disable=SC2034 # for the recipe that reads this
linux_flags="-DAES_LIBRARY=\"$IMPLEMENTATION\" apps/aes/case.c apps/aes/known.c"
