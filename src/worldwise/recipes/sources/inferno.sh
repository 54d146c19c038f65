# SPDX-License-Identifier: BSD-2-Clause
# Without the network: the renderer from what inferno-fetch.sh has left.
. /in/recipes/common.sh

export CARGO_HOME=/build/cargo CARGO_TARGET_DIR=/build/target
cd inferno
cargo build --release --frozen --bin inferno-flamegraph --bin inferno-diff-folded
cp "$CARGO_TARGET_DIR/release/inferno-flamegraph" "$CARGO_TARGET_DIR/release/inferno-diff-folded" /out/
