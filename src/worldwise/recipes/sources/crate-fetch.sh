# SPDX-License-Identifier: BSD-2-Clause
# With the network: one crate, checked.
. /in/recipes/common.sh
. /in/recipes/cargo.sh

fetch_crate "$CRATE" "$VERSION" "$SHA256"
