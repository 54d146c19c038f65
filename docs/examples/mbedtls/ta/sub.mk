srcs-y += bench_ta.c work.c
