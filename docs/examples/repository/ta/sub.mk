srcs-y += checksum_ta.c crc32.c
