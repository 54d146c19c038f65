# SPDX-License-Identifier: BSD-2-Clause
# OP-TEE as optee.sh builds it, by clang and lld, in the root that has these; TA_MBEDTLS is as there.
. /in/recipes/common.sh

mkdir source out /out/built
tar -xf /in/source/source.tar -C source
# By .debug_aranges `explain` knows which file a function is of; clang writes it only if it is asked to. Among make's settings
# the word would reach the dev kit, and GCC, which compiles TAs, has no such word.
export CCC_OVERRIDE_OPTIONS='# +-gdwarf-aranges'
mbedtls_of_tas=/build/out/ta_arm64-lib/libmbedtls
left_out=()
build() { # TARGET...
	# shellcheck disable=SC2086 # lists of settings
	make "${left_out[@]}" -j"$(nproc)" -C source O=/build/out COMPILER=clang CROSS_COMPILE64=aarch64-linux-gnu- PLATFORM="$PLATFORM" \
		CFG_ARM64_core=y CFG_USER_TA_TARGETS=ta_arm64 CFG_ARM_GICV3=y CFG_CORE_ASLR=n CFG_TA_ASLR=n CFG_BUILD_IN_TREE_TA=n \
		CFG_WORLDWISE_EL0_COUNTER=y CFG_WORLDWISE_COUNTER_PTA=y CFG_WORLDWISE_SEED=y WORLDWISE_MBEDTLS="${MBEDTLS_OPTIONS:-}" \
		PYTHON3=python3 TEE_IMPL_VERSION=4.10.0 platform-cflags-debug-info=-g $CRYPTO_LIBRARY $OPTIMISATION "$@"
}
archive() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$@"; }
case ${TA_MBEDTLS:-} in
	whole)
		build ta_dev_kit
		archive /out/built/devkit.tar -C out/export-ta_arm64 .
		exit
		;;
	few)
		few=("$mbedtls_of_tas"/mbedtls/library/{bignum,bignum_core,constant_time,platform_util}.o)
		build "${few[@]}"
		llvm-ar rcsD "$mbedtls_of_tas/libmbedtls.a" "${few[@]}"
		left_out=(-o "$mbedtls_of_tas/libmbedtls.a")
		;;
esac
build
cp out/core/tee-header_v2.bin /out/built/bl32.bin
cp out/core/tee-pager_v2.bin /out/built/bl32_extra1.bin
cp out/core/tee-pageable_v2.bin /out/built/bl32_extra2.bin
cp out/core/tee.elf out/ldelf/ldelf.elf /out/built/
archive /out/built/devkit.tar -C out/export-ta_arm64 .
archive /out/built/flags.tar -C out include/generated/conf.h
