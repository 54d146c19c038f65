# SPDX-License-Identifier: BSD-2-Clause
# The core's crypto library for Linux: the same files, the same configuration, the same code generation. ADAPTER names the
# file of guest/optee-libraries that calls it; what the library expects of the core is in optee-shim/ there.
. /in/recipes/common.sh

mkdir source out
tar -xf /in/source/source.tar -C source
tar -xf /in/optee/flags.tar -C out

# What the core's own build recorded for an object: its definitions, optimisation and code generation flags. That it is
# part of the core (__KERNEL__) and how it traces is left out.
recorded() { # COMMAND-FILE
	tr ' ' '\n' < "$1" | grep -E '^-(O|D|m|f(function|data)-sections|fstack-protector|std=)' |
		grep -vE '^-D(__KERNEL__|__FILE_ID__|TRACE_LEVEL)' | tr '\n' ' '
}
tree=/build/source
mbedtls=lib/libmbedtls
libtomcrypt=core/lib/libtomcrypt
# AES in Linux is the library's own: no measured operation uses it, but to seed a generator. SHA-256 is as in the core.
grep -v CFG_CORE_CRYPTO_AES_ACCEL out/include/generated/conf.h > linux-conf.h
# Without __KERNEL__ mbed TLS would take the configuration for TAs.
around="-D_GNU_SOURCE -include /build/linux-conf.h -DMBEDTLS_CONFIG_FILE=\"mbedtls_config_kernel.h\""
around="$around -I/in/guest/optee-libraries/optee-shim"
for folder in $mbedtls/include $mbedtls/mbedtls/include $mbedtls/mbedtls/library lib/libutils/ext/include \
	lib/libutee/include $libtomcrypt/include $libtomcrypt/src/headers; do
	around="$around -I$tree/$folder"
done
mkdir objects
# As many compilers at a time as there are processors; `compiled` waits for the last and fails if one did.
compilers=()
compile() { # SOURCE COMMAND-FILE
	# shellcheck disable=SC2046 # a list of flags
	aarch64-linux-gnu-gcc $(recorded "$2") $around -w -g -fno-pie -c "$tree/$1" -o "objects/${1//\//_}.o" &
	compilers+=($!)
	while (($(jobs -pr | wc -l) >= $(nproc))); do sleep 0.01; done
}
compiled() {
	local compiler
	for compiler in "${compilers[@]}"; do wait "$compiler"; done
}
mbedtls_commands=out/core-lib/libmbedtls/mbedtls/library
parts="bignum bignum_core constant_time platform_util"
flags_of=$mbedtls_commands/.bignum.o.cmd
if [[ $ADAPTER == libtomcrypt ]]; then
	commands=$(find out -type d -name libtomcrypt)
	flags_of=$commands/src/pk/ecc/.ecc_sign_hash.o.cmd
	# All that the core compiled of these parts, which take seconds, and of the others what the adapter calls.
	misc='src/misc/ zeromem|src/misc/crypt/ crypt_(hash_descriptor|prng_.*|register_(hash|prng))'
	(cd "$commands" && find . -name '.*.o.cmd') | LC_ALL=C sort |
		sed -E 's,^\./,,; s,(^|/)\.([^/]*)\.o\.cmd$,\1 \2,; s,^ ,./ ,' |
		grep -E '^(\./ (mpi_desc|sha256_accel)|src/(pk/(ecc|asn1|rsa)|math)/.*|src/hashes/sha2/ sha256|'"$misc"')$' > core-sources
	while read -r folder name; do
		compile "$libtomcrypt/${folder#./}$name.c" "$commands/$folder.$name.o.cmd"
	done < core-sources
else
	parts="$parts aes bignum_mod_raw ctr_drbg ecdsa ecp ecp_curves ecp_curves_new md asn1parse asn1write sha256"
fi
for part in $parts; do compile "$mbedtls/mbedtls/library/$part.c" "$mbedtls_commands/.$part.o.cmd"; done
compiled
flags="$(recorded "$flags_of") $around"
if grep -q '^#define CFG_CRYPTO_SHA256_ARM_CE 1' out/include/generated/conf.h; then
	say "the core's SHA-256 by the Armv8 Cryptographic Extension"
	crypto=$tree/core/arch/arm/crypto
	aarch64-linux-gnu-gcc $flags -w -g -fno-pie -c "$crypto/sha256_armv8a_ce.c" -o objects/sha256_ce.o
	# Its headers are written for OP-TEE's own stdint.h, which an assembler can read.
	aarch64-linux-gnu-gcc -I$tree/lib/libutils/isoc/include $flags -g -c "$crypto/sha256_armv8a_ce_a64.S" \
		-o objects/sha256_ce_a64.o
	[[ $ADAPTER != mbedtls ]] ||
		aarch64-linux-gnu-gcc $flags -Wall -Wextra -Werror -g -fno-pie \
			-c /in/guest/optee-libraries/optee-shim/mbedtls-sha256.c -o objects/mbedtls-sha256.o
fi
aarch64-linux-gnu-ar rcsD /out/library.a objects/*.o
# The adapter is compiled as the library is: it includes the library's headers.
for source in "$ADAPTER" optee-shim/core; do
	# shellcheck disable=SC2086 # a list of flags
	aarch64-linux-gnu-gcc $flags -Wall -Wextra -Werror -g -fno-pie -c "/in/guest/optee-libraries/$source.c" \
		-o "/out/${source##*/}.o"
done
mv "/out/$ADAPTER.o" /out/adapter.o
