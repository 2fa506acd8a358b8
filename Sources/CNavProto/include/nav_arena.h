#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

// A bump allocator for one encode or decode. It starts in a buffer of the caller (on the stack), grows in malloc'ed
// chunks, refuses to pass its limit, and is freed as a whole. Each block is preceded by its size: that is how a
// decoded string's length is known although protobuf-c only keeps a pointer, so that a NUL inside it is noticed.
typedef struct nav_arena {
  uint8_t *cursor;
  uint8_t *end;
  void *chunks;
  size_t taken;
  size_t limit;
  int exhausted;
} nav_arena;

// Slow path of nav_arena_alloc: a new chunk, or NULL when the limit or the memory is exhausted.
void *nav_arena_grow(nav_arena *arena, size_t size);

// Frees every chunk; the caller's buffer stays the caller's.
void nav_arena_free(nav_arena *arena);

// An allocator for protobuf-c that takes from the arena and frees nothing.
ProtobufCAllocator nav_arena_allocator(nav_arena *arena);

// Starts in size bytes at buffer, which must be aligned to 8; the blocks together stay within limit bytes.
static inline nav_arena nav_arena_make(void *buffer, size_t size, size_t limit) {
  nav_arena arena = {(uint8_t *)buffer, (uint8_t *)buffer + size, NULL, 0, limit, 0};
  return arena;
}

// A block of size bytes aligned to 8, uninitialised; NULL when the limit or the memory is exhausted.
static inline void *nav_arena_alloc(nav_arena *arena, size_t size) {
  size_t room = (size_t)(arena->end - arena->cursor);
  if (__builtin_expect(size > room || ((size + 15) & ~(size_t)7) > room, 0)) return nav_arena_grow(arena, size);
  *(size_t *)(void *)arena->cursor = size;
  void *block = arena->cursor + 8;
  arena->cursor += (size + 15) & ~(size_t)7;
  return block;
}

// Size with which a block was allocated.
static inline size_t nav_arena_block_size(const void *block) { return *(const size_t *)((const uint8_t *)block - 8); }
