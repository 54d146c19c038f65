# SPDX-License-Identifier: BSD-2-Clause
# A source package (PACKAGES) as one archive that is quick to unpack, for what is compiled from it many times.
. /in/recipes/common.sh
. /in/recipes/packages.sh

tar --create --file=/out/source.tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$PACKAGES" .
