/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream.h"

#include "room.h"

#define ADDRESS_SHIFT 16
#define MOST_PLACE 0xffffu
/* Instructions begin at even addresses. */
#define STEP 2

void stream_empty(struct stream *stream)
{
	stream->run_count = 0;
	stream->access_count = 0;
	stream->instructions = 0;
}

void stream_block(struct stream *stream, uint64_t start, uint32_t bytes, uint32_t instructions)
{
	struct run *last = stream->run_count ? &stream->runs[stream->run_count - 1] : NULL;

	if (last && last->start + last->bytes == start) {
		last->bytes += bytes;
	} else {
		if (stream->run_count == stream->run_room)
			stream->runs = room_doubled(stream->runs, &stream->run_room, sizeof(*stream->runs));
		stream->runs[stream->run_count++] = (struct run){
			.start = start,
			.bytes = bytes,
			.first_access = (uint32_t)stream->access_count,
			.before = stream->instructions,
		};
	}
	stream->instructions += instructions;
}

void stream_take_back(struct stream *stream, uint32_t bytes, uint32_t instructions)
{
	stream->runs[stream->run_count - 1].bytes -= bytes;
	stream->instructions -= instructions;
}

void stream_access(struct stream *stream, uint64_t pc, uint64_t address)
{
	uint64_t place = (pc - stream->runs[stream->run_count - 1].start) / STEP;

	if (stream->access_count == stream->access_room)
		stream->accesses = room_doubled(stream->accesses, &stream->access_room, sizeof(*stream->accesses));
	stream->accesses[stream->access_count++] = address << ADDRESS_SHIFT | (place < MOST_PLACE ? place : MOST_PLACE);
}

uint64_t run_end(const struct stream *stream, size_t run)
{
	return stream->runs[run].start + stream->runs[run].bytes;
}

size_t run_last_access(const struct stream *stream, size_t run)
{
	return run + 1 < stream->run_count ? stream->runs[run + 1].first_access : stream->access_count;
}

uint64_t access_pc(const struct stream *stream, size_t run, size_t access)
{
	return stream->runs[run].start + STEP * (stream->accesses[access] & MOST_PLACE);
}

uint64_t access_address(const struct stream *stream, size_t access)
{
	return stream->accesses[access] >> ADDRESS_SHIFT;
}

uint32_t stream_position(const struct stream *stream, size_t run, uint64_t pc, const struct map *known)
{
	uint32_t before = stream->runs[run].before;

	for (uint64_t at = stream->runs[run].start; at < pc; at += STEP)
		before += map_get(known, at) != NULL;
	return before;
}
