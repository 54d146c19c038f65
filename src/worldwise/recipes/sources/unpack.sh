# SPDX-License-Identifier: BSD-2-Clause
# The C and assembly files of a source package (PACKAGES) as one archive that is quick to unpack, for what is compiled from it
# many times. The rest of wolfSSL is two thirds of its files: certificates, projects of IDEs, documents.
. /in/recipes/common.sh
. /in/recipes/packages.sh

cd "$PACKAGES"
find . -not -type d -name '*.[chsS]' -print0 | LC_ALL=C sort -z >/build/files
tar --create --file=/out/source.tar --null --files-from=/build/files --mtime=@0 --owner=0 --group=0 --numeric-owner
