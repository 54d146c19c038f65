# SPDX-License-Identifier: BSD-2-Clause
. /in/recipes/common.sh

tar -xOf /in/source/source.tar | grep -aoE '\bCFG_[A-Za-z0-9_]+' | LC_ALL=C sort -u > /out/names
