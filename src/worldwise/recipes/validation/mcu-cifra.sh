# SPDX-License-Identifier: BSD-2-Clause
# cifra's own measuring programs for microcontrollers, from the source of Debian's h2o, which bundles cifra with the
# assembly of uNaCl. CORE is m0, m3 or m4, CODE where the emulated machine has its code. One program for each figure of
# cifra's README, with the flags of its src/arm/Makefile; of ours are the marks and the end.
. /in/recipes/common.sh

cp -r /in/source src
cd src/arm
printf 'MEMORY { FLASH (rx) : ORIGIN = %s, LENGTH = 128K\n RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 8K }\n%s\n' \
	"$CODE" 'INCLUDE linkscript.std.ld' >board.ld
gcc=(arm-none-eabi-gcc -I. -I./ext -I../ext -I.. -Os -ffunction-sections -fcommon -w -std=gnu99 -mthumb
	"-mcpu=cortex-$CORE" "-DCORTEX_${CORE^^}")
common=(boot.c memcpy.s memset.s ../{sha1,sha256,sha512,sha3,blockwise,chash,curve25519,poly1305,aes,eax,gcm,cbcmac}.c
	../{ccm,modes,cmac,gf128,hmac,pbkdf2,salsa20,chacha20,norx,chacha20poly1305,drbg}.c /in/validation/mcu_cifra.c
	unacl/{cortex_m0_mpy121666,cortex_m0_reduce25519,mul,sqr}.s)
aes=(-DCF_AES_ENCRYPT_ONLY=1 -DCF_SIDE_CHANNEL_PROTECTION=0)

# The programs NAMES, whose sources are compiled with the flags FLAGS.
build() { # NAMES FLAGS
	local name names objects
	read -ra names <<<"$1"
	shift
	objects=$(mktemp -d)
	printf '%s\n' "${common[@]}" | xargs -P"$(nproc)" -I{} sh -c '"$@" -c -o "$0/$(basename {}).o" {}' \
		"$objects" "${gcc[@]}" "$@"
	for name in "${names[@]}"; do
		"${gcc[@]}" "$@" "-DTEST=$name" -nostartfiles -nostdlib -Wl,--gc-sections,--no-warn-rwx-segments \
			-T board.ld -o "/out/$name.elf" main.c "$objects"/*.o -lgcc
	done
}

build "$(echo hashtest_sha{256,512,3_256,3_512} salsa20_test chacha20_test hmacsha256_test curve25519_test norx_test)"
build "$(echo aes128{block,sched,gcm,eax,ccm}_test poly1305_test)" "${aes[@]}" -DCF_AES_MAXROUNDS=AES128_ROUNDS
build "$(echo aes256{block,sched}_test)" "${aes[@]}" -DCF_AES_MAXROUNDS=AES256_ROUNDS
