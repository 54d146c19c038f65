# SPDX-License-Identifier: BSD-2-Clause
# The folders PARTS of a source package's original archive (SOURCE), with what is above them.
. /in/recipes/common.sh

patterns=()
for part in $PARTS; do patterns+=("*/$part/*"); done
mkdir -p /out/source
tar -xf /in/"$SOURCE"/*.orig.tar.* -C /out/source --strip-components=1 --wildcards "${patterns[@]}"
