# SPDX-License-Identifier: BSD-2-Clause
# For fetch scripts that take something from the crates' registry, as the host's cargo is told to reach it.
export CARGO_HOME=/build/cargo
mkdir -p "$CARGO_HOME"
printf '%s' "$CARGO_CONFIG" >"$CARGO_HOME/config.toml"

# Unpacks a crate into a folder of its name; ends with 65 if its .crate file has another digest.
fetch_crate() { # NAME VERSION SHA256
	# The one command that downloads a crate alone, without what it depends on.
	cargo info --quiet "$1@$2" >/dev/null
	local crate
	crate=$(echo "$CARGO_HOME"/registry/cache/*/"$1-$2.crate")
	echo "$3  $crate" | sha256sum --check --strict || exit 65
	mkdir "$1"
	tar -xf "$crate" -C "$1" --strip-components=1
}
