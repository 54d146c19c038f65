# SPDX-License-Identifier: BSD-2-Clause
. /in/recipes/common.sh

dpkg-deb -x /in/linux-image-cloud-arm64.deb .
cp boot/vmlinuz-* /out/Image
for module in tee/tee tee/optee/optee; do
	xz -dc usr/lib/modules/*/kernel/drivers/$module.ko.xz > "/out/${module##*/}.ko"
done
