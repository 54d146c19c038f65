# SPDX-License-Identifier: BSD-2-Clause
# With the network: the renderer's crate, checked, and all that the lock file inside it names.
. /in/recipes/common.sh
. /in/recipes/cargo.sh

fetch_crate inferno "$VERSION" "$SHA256"
cd inferno
cargo fetch --quiet --locked --target x86_64-unknown-linux-gnu
