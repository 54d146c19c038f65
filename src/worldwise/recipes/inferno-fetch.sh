# SPDX-License-Identifier: BSD-2-Clause
# With the network: the renderer's crate, checked, and all that the lock file inside it names.
. /in/recipes/common.sh

export CARGO_HOME=/build/cargo
mkdir -p "$CARGO_HOME"
printf '%s' "$CARGO_CONFIG" >"$CARGO_HOME/config.toml"
# The one command that downloads a crate alone, without what it depends on.
cargo info --quiet "inferno@$VERSION" >/dev/null
crate=$(echo "$CARGO_HOME"/registry/cache/*/"inferno-$VERSION.crate")
echo "$SHA256  $crate" | sha256sum --check --strict || exit 65
mkdir inferno
tar -xf "$crate" -C inferno --strip-components=1
cd inferno
cargo fetch --quiet --locked --target x86_64-unknown-linux-gnu
