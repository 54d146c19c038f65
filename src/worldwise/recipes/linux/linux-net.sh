# SPDX-License-Identifier: BSD-2-Clause
# The kernel's modules for an emulated network card, apart from linux.sh so that no other machine changes.
. /in/recipes/common.sh

dpkg-deb -x /in/linux-image-cloud-arm64.deb .
for module in net/core/failover drivers/net/net_failover drivers/net/virtio_net; do
	xz -dc usr/lib/modules/*/kernel/$module.ko.xz > "/out/${module##*/}.ko"
done
