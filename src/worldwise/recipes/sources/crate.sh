# SPDX-License-Identifier: BSD-2-Clause
. /in/recipes/common.sh

cp -r "$CRATE" /out/source
