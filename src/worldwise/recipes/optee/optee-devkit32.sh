# SPDX-License-Identifier: BSD-2-Clause
# The kit for TAs of 32 bits (ta_arm32) of an OP-TEE that is built as optee.sh does it: the libraries of TAs alone, by the
# compiler for 32-bit Arm. The core is the one that all other TAs have, which loads both.
. /in/recipes/common.sh

mkdir source out
tar -xf /in/source/source.tar -C source
# shellcheck disable=SC2086 # lists of settings
make -j"$(nproc)" -C source O=/build/out PLATFORM="$PLATFORM" CFG_ARM64_core=y CFG_USER_TA_TARGETS=ta_arm32 \
	CFG_ARM_GICV3=y CFG_CORE_ASLR=n CFG_TA_ASLR=n CFG_BUILD_IN_TREE_TA=n CFG_WORLDWISE_EL0_COUNTER=y \
	CFG_WORLDWISE_COUNTER_PTA=y CFG_WORLDWISE_SEED=y WORLDWISE_MBEDTLS="${MBEDTLS_OPTIONS:-}" CROSS_COMPILE64=aarch64-linux-gnu- \
	CROSS_COMPILE32=arm-linux-gnueabihf- PYTHON3=python3 TEE_IMPL_VERSION=4.10.0 platform-cflags-debug-info=-g \
	$CRYPTO_LIBRARY $OPTIMISATION ta_dev_kit
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf /out/devkit.tar -C out/export-ta_arm32 .
