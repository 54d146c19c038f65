# SPDX-License-Identifier: BSD-2-Clause
"""What an ELF file for 32-bit Arm says of itself; only the process of `elf_files.reader` imports it."""

from typing import Any

from elftools.elf.sections import ARMAttributesSection


def arm_architecture(file: Any) -> int | None:
    """The number of the architecture that its code was built for (Tag_CPU_arch); None if it does not say one."""
    for section in file.elf.iter_sections():
        if isinstance(section, ARMAttributesSection):
            for public in section.iter_subsections():
                for scope in public.iter_subsubsections():
                    for one in scope.iter_attributes("TAG_CPU_ARCH"):
                        return int(one.value)
    return None
