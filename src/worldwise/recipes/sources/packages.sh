# SPDX-License-Identifier: BSD-2-Clause
# Unpacks source packages (PACKAGES), each into a folder of its name: with Debian's changes, or the original archive alone.
# Of large ones with few files that matter these folders alone (PARTS).
for package in $PACKAGES; do
	mkdir "$package"
	patterns=()
	for part in ${PARTS:-}; do patterns+=("*/$part/*"); done
	tar -xf "$(ls "/in/$package"/*.orig.tar.* | grep -v '\.asc$')" -C "$package" --strip-components=1 \
		--wildcards "${patterns[@]}"
	if compgen -G "/in/$package/*.debian.tar.*" >/dev/null; then
		tar -xf "/in/$package"/*.debian.tar.* -C "$package"
		apply_debian "$package"
	fi
done
