# SPDX-License-Identifier: BSD-2-Clause
# A scheme in pqm4's or PQClean's layout as firmware: its own files (/in/scheme), the common code of its tree (/in/common; the
# files of COMMON are compiled) and the program around it (/in/guest/pqm4). FLAGS are the core's; PREFIX stands before the
# names of the scheme; KEM is 1 or 0. CODE_AT, CODE_SIZE, RAM_AT and RAM_SIZE are the machine's memory.
# A line that begins with "worldwise: " is what the user is told.
. /in/recipes/common.sh

fail() {
	echo "worldwise: $*"
	exit 1
}

read -ra flags <<<"$FLAGS"
read -ra common <<<"$COMMON"
# The names that both projects' makefiles give, and pqm4's level.
flags+=(-O3 -g -std=gnu11 -ffunction-sections -fdata-sections -DPQM4 -DMUPQ -DMUPQ_NAMESPACE="$PREFIX")
includes=(-I/in/scheme)
for folder in /in/common/mupq/common /in/common/common; do
	[[ ! -d $folder ]] || includes+=("-I$folder")
done

compile() { # FOLDER FILE [FLAG...]
	local object
	object=$1/$(basename "$2").o
	[[ ! -e $object ]] || fail "$(basename "$2"): two files have this name"
	arm-none-eabi-gcc "${flags[@]}" "${includes[@]}" "${@:3}" -c -o "$object" "$2" || fail "${2#/in/}: does not compile"
}

mkdir scheme common frame
for file in /in/scheme/*.c /in/scheme/*.S /in/scheme/*.s; do
	[[ ! -f $file ]] || compile scheme "$file"
done
for file in "${common[@]}"; do
	compile common "/in/common/$file"
done
own=(-std=c11 -Wall -Wextra -Werror -DSCHEME_PREFIX="$PREFIX" -DSCHEME_IS_KEM="$KEM" -DSCHEME_RUNS="$RUNS")
compile frame /in/guest/pqm4/start.c "${own[@]}"
compile frame /in/guest/pqm4/main.c "${own[@]}"
# A function has one name in every implementation, and so in the cases: its header can give it another, by macros.
if [[ $KEM == 1 ]]; then
	calls=("crypto_kem_keypair(a, b)" "crypto_kem_enc(a, b, c)" "crypto_kem_dec(a, b, c)")
else
	calls=("crypto_sign_keypair(a, b)" "crypto_sign(a, b, c, d, e)" "crypto_sign_open(a, b, c, d, e)")
fi
for call in "${calls[@]}"; do
	printf '#include "api.h"\nWORLDWISE %s%s\n' "$PREFIX" "$call" |
		arm-none-eabi-gcc "${flags[@]}" "${includes[@]}" -E -P -x c - |
		sed -n "s/^WORLDWISE *\([A-Za-z0-9_]*\).*/\1 ${call%%(*}/p"
done | awk '$1 != $2' >names
for object in scheme/*.o frame/*.o; do
	arm-none-eabi-objcopy --redefine-syms=names "$object"
done
arm-none-eabi-gcc -E -P -x c -DCODE_AT="$CODE_AT" -DCODE_SIZE="$CODE_SIZE" -DRAM_AT="$RAM_AT" -DRAM_SIZE="$RAM_SIZE" \
	-o program.ld /in/guest/pqm4/program.ld
# Others' assembly says nothing of its stack's flags, so the linker would warn of each file.
arm-none-eabi-gcc "${flags[@]}" -nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--gc-sections,--no-warn-execstack \
	-T program.ld -o /out/firmware.elf frame/*.o scheme/*.o -Wl,--start-group common/*.o -Wl,--end-group ||
	fail "it does not link: a name is missing, or the machine's memory is too small"
arm-none-eabi-size -t scheme/*.o | tail -n 1 >/out/sizes
