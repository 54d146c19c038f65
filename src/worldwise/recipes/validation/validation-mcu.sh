# SPDX-License-Identifier: BSD-2-Clause
# A program of the validation for a microcontroller: our harness with a library, for the machine whose linker script is
# SCRIPT. FLAGS are the core's, LEVEL the optimisation of the figures; FILES are the library's sources below SOURCE, and
# INCLUDE its folders of headers. PACKAGES are as in packages.sh, empty for what is a tree.
. /in/recipes/common.sh
. /in/recipes/packages.sh

read -ra flags <<<"$FLAGS"
read -ra level <<<"$LEVEL"
read -ra include <<<"$INCLUDE"
read -ra files <<<"$FILES"
gcc=(arm-none-eabi-gcc "${flags[@]}" -ffunction-sections -fdata-sections -I /in/validation -I /in/bench -I /in/mcu)
mkdir objects
cd "$SOURCE"
for file in "${files[@]}"; do
	"${gcc[@]}" "${level[@]}" -w "${include[@]/#/-I}" -c "$file" -o "/build/objects/$(basename "$file").o"
done
"${gcc[@]}" "${level[@]}" -std=c11 -Wall -Wextra -Wpedantic -Werror "${include[@]/#/-isystem}" -nostartfiles -static \
	-Wl,--gc-sections,--no-warn-rwx-segments,--defsym="board_flash=$FLASH,--defsym=board_ram=$RAM,--defsym=stack_bytes=$STACK" \
	-L /in/boards -T "/in/boards/$SCRIPT" -o /out/program /in/validation/mcu_start.c /in/validation/cells.c \
	"/in/validation/$CELLS" /in/bench/semihost.c /in/mcu/heap.c /build/objects/*.o
