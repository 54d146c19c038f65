# SPDX-License-Identifier: BSD-2-Clause
# CRYPTO_LIBRARY and OPTIMISATION are make settings, PLATFORM is OP-TEE's name of the machine, KEEP asks for the objects.
# /in/objects has those of another OP-TEE: only what differs from it is compiled; core and dev kit are the same to the byte.
# TA_MBEDTLS=few compiles of Mbed TLS for TAs, which is two fifths of the work, the files that libutee needs: no TA of ours
# needs others, and one that does is not linked. TA_MBEDTLS=whole makes the dev kit alone, with all of them.
# With TA_TARGET=ta_arm32 that is the kit for TAs of 32 bits, by the compiler for 32-bit Arm: the core loads both.
. /in/recipes/common.sh

ta_target=${TA_TARGET:-ta_arm64}
mbedtls_of_tas=/build/out/$ta_target-lib/libmbedtls
left_out=()
mkdir source out
tar -xf /in/source/source.tar -C source
build() { # TARGET...
	# By default it asks for macros in the debug information, which nobody reads: they take a sixth of the time.
	# shellcheck disable=SC2086 # lists of settings
	make "${left_out[@]}" -j"$(nproc)" -C source O=/build/out PLATFORM="$PLATFORM" CFG_ARM64_core=y CFG_USER_TA_TARGETS="$ta_target" \
		CFG_ARM_GICV3=y CFG_CORE_ASLR=n CFG_TA_ASLR=n CFG_BUILD_IN_TREE_TA=n CFG_WORLDWISE_EL0_COUNTER=y \
		CFG_WORLDWISE_COUNTER_PTA=y CFG_WORLDWISE_SEED=y WORLDWISE_MBEDTLS="${MBEDTLS_OPTIONS:-}" CROSS_COMPILE64=aarch64-linux-gnu- \
		CROSS_COMPILE32=arm-linux-gnueabihf- PYTHON3=python3 TEE_IMPL_VERSION=4.10.0 platform-cflags-debug-info=-g $CRYPTO_LIBRARY $OPTIMISATION "$@"
}
if [[ -e /in/objects ]]; then
	tar -xf /in/objects/objects.tar -C out
	# The core's version string counts the builds.
	rm out/core/.buildcount
	conf=out/include/generated/conf.h
	cp $conf other-conf.h
	build "/build/$conf"
	cmp -s $conf other-conf.h || (cd source && python3 /in/recipes/optee-kept.py ../out ../other-conf.h)
fi
archive() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$@"; }
case ${TA_MBEDTLS:-} in
	whole)
		rm -f "$mbedtls_of_tas/libmbedtls.a"
		build ta_dev_kit
		archive /out/devkit.tar -C out/export-"$ta_target" .
		exit
		;;
	few)
		few=("$mbedtls_of_tas"/mbedtls/library/{bignum,bignum_core,constant_time,platform_util}.o)
		build "${few[@]}"
		rm -f "$mbedtls_of_tas/libmbedtls.a" out/export-ta_arm64/lib/libmbedtls.a
		aarch64-linux-gnu-ar rcsD "$mbedtls_of_tas/libmbedtls.a" "${few[@]}"
		# make takes the archive as it is.
		left_out=(-o "$mbedtls_of_tas/libmbedtls.a")
		;;
esac
build
cp out/core/tee-header_v2.bin /out/bl32.bin
cp out/core/tee-pager_v2.bin /out/bl32_extra1.bin
cp out/core/tee-pageable_v2.bin /out/bl32_extra2.bin
cp out/core/tee.elf /out/tee.elf
cp out/ldelf/ldelf.elf /out/ldelf.elf
archive /out/devkit.tar -C out/export-"$ta_target" .
# How the core's crypto libraries were configured and compiled, so that Linux gets the very same.
(
	cd out
	find . -path '*lib*' -name '.*.o.cmd' -print0 | LC_ALL=C sort -z |
		archive /out/flags.tar --null -T - include/generated/conf.h
)
[[ -z ${KEEP:-} ]] || tar -C out -cf /out/objects.tar .
