#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes five git revisions of an example library, the fourth with a planted regression, measures and explains each, and
# makes a site of the runs: ./history.sh MICRO-ECC DIRECTORY
# MICRO-ECC is the folder of micro-ecc's sources (docs/use/own.md says where it is), DIRECTORY an empty one.
set -eu
examples=$(dirname -- "$(readlink -f -- "$0")")
worldwise=$examples/../../worldwise
sources=$(readlink -f -- "$1")
mkdir -p "$2"
cd "$2"

git init --quiet library
git() {
	command git -C library -c user.name=example -c user.email=example@example.invalid "$@"
}
# Commits what the library's folder has, measures a signature inside OP-TEE, and has its functions counted.
revision() {
	git add --all
	git commit --quiet --message "$1"
	set -- --implementation library
	"$worldwise" run attestation --runs runs --target optee --operation attestdiv --variant my-micro-ecc-O2 \
		--samples 3 "$@" >/dev/null
	"$worldwise" explain latest --runs runs --measure sign "$@" >/dev/null
	git log --format='%h %s' -1
}

cp "$examples"/micro-ecc/* library
mkdir library/micro-ecc
cp "$sources"/*.[ch] "$sources"/*.inc library/micro-ecc
revision 'micro-ecc, as its authors made it'

sed -i '1s/^/\/* A copy of micro-ecc. *\/ /' library/micro-ecc/uECC.c
revision 'Say what this is'

sed -i 's/^defines = \[/&\n  "uECC_SQUARE_FUNC=1",/' library/implementation.toml
revision 'Squares have a function of their own'

# The regression: the reduction that knows the form of the prime is gone.
sed -i 's/curve->mmod_fast(result, product);/uECC_vli_mmod(result, product, curve->p, curve->num_words);/' \
	library/micro-ecc/uECC.c
revision 'One reduction is enough for all curves'

git revert --no-edit --no-commit HEAD
revision 'Take that back'

"$worldwise" site public --runs runs
