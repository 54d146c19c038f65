#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A task of a SLURM array: one shard of a suite (docs/use/machines.md). From the folder of the checkout, for eight shards:
#
#   job=$(sbatch --parsable --array=1-8 docs/examples/slurm/shards.sh 8 tee --samples 3)
#   sbatch --dependency="afterany:$job" --wrap './worldwise merge runs/*-tee-shard-*-of-8'
#
# The first argument is the number of shards, since a lost one is run again alone: sbatch --array=3 ... 8 tee. The rest
# is for `worldwise run`. SHARED names the folder for what is built, if the nodes have one in common; RUNS that of the
# runs; WORLDWISE the program.
#SBATCH --cpus-per-task=2
#SBATCH --output=slurm-%A-%a.log
set -eu
count=$1
shift
# Of the processors that the task was given, one machine each.
set -- "$@" --shard "${SLURM_ARRAY_TASK_ID:?is not set: sbatch --array=1-$count}/$count" \
	--jobs "${SLURM_CPUS_PER_TASK:-1}" --runs "${RUNS:-runs}"
[ -z "${SHARED:-}" ] || set -- "$@" --cache "$SHARED"
# srun: a signal of the queue reaches the tool, which then ends in order, and --resume goes on.
exec srun ${WORLDWISE:-./worldwise} run "$@"
