# SPDX-License-Identifier: BSD-2-Clause
# TF-A with a secure partition manager in place of its dispatcher for OP-TEE. SETTINGS are make settings beside those that
# every TF-A here has; LEVEL is the exception level of the SPMC, 1 (OP-TEE itself) or 3 (TF-A).
. /in/recipes/common.sh

tar -xf /in/arm-trusted-firmware/*.orig.tar.xz --strip-components=1
for patch in /in/patches/*.patch; do
	[[ -e $patch ]] || continue
	say "ours: ${patch##*/}"
	patch --fuzz=0 -p1 < "$patch"
done
# shellcheck disable=SC2086 # a list of settings
ASFLAGS=-g make -j"$(nproc)" CFLAGS=-g PLAT=qemu BL32_RAM_LOCATION=tdram QEMU_USE_GIC_DRIVER=QEMU_GICV3 \
	ARM_LINUX_KERNEL_AS_BL33=1 CROSS_COMPILE=aarch64-linux-gnu- BUILD_MESSAGE_TIMESTAMP='"worldwise"' \
	BUILD_STRING=locked $SETTINGS bl1 bl2 bl31
cp build/qemu/release/bl1.bin build/qemu/release/bl2.bin build/qemu/release/bl31.bin /out/
cp build/qemu/release/bl31/bl31.elf /out/
# The manifest that BL2 hands over with OP-TEE, of the form that TF-A's documentation of FF-A describes.
dtc -q -I dts -O dtb -o /out/tos_fw_config.dtb "/in/recipes/spmc-el$LEVEL.dts"
